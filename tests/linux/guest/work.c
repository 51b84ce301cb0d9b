/* Requests, receives and their completions. */
#include "guest.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Seconds that a completion may take: more than all retries of a card that is simulated slowly. */
#define PATIENCE 60

static const struct order {
    const char *name;
    enum ibv_wr_opcode opcode;
    /* Numbers behind the name; LOCAL and LENGTH come first. A datagram's key is one more. */
    int arguments;
} orders[] = {
    /* name       opcode                        LOCAL LENGTH and */
    { "write",     IBV_WR_RDMA_WRITE,          4 }, /* REMOTE RKEY */
    { "write_imm", IBV_WR_RDMA_WRITE_WITH_IMM, 5 }, /* REMOTE RKEY IMMEDIATE */
    { "read",      IBV_WR_RDMA_READ,           4 }, /* REMOTE RKEY */
    { "send",      IBV_WR_SEND,                2 },
    { "send_imm",  IBV_WR_SEND_WITH_IMM,       3 }, /* IMMEDIATE */
    { "fetch_add", IBV_WR_ATOMIC_FETCH_AND_ADD, 5 }, /* REMOTE RKEY ADD */
    { "cmp_swap",  IBV_WR_ATOMIC_CMP_AND_SWP,  6 }, /* REMOTE RKEY COMPARE SWAP */
};

static int is_inside(uint64_t local, uint64_t length)
{
    return local <= AREA && length <= AREA - local;
}

static int is_datagram(const struct end *end)
{
    return end->queue_pair->qp_type == IBV_QPT_UD;
}

static int post_receive(struct end *end, struct ibv_sge *piece)
{
    struct ibv_recv_wr receive = { .sg_list = piece, .num_sge = piece->length > 0 }, *bad;
    return ibv_post_recv(end->queue_pair, &receive, &bad);
}

static int post_send(struct end *end, const struct order *order, struct ibv_sge *piece, const uint64_t *rest)
{
    struct ibv_send_wr request = { .sg_list = piece, .num_sge = piece->length > 0, .opcode = order->opcode }, *bad;
    switch (order->opcode) {
    case IBV_WR_SEND_WITH_IMM:
        request.imm_data = htonl((uint32_t)rest[0]);
        break;
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
    case IBV_WR_ATOMIC_CMP_AND_SWP:
        request.wr.atomic.remote_addr = rest[0];
        request.wr.atomic.rkey = (uint32_t)rest[1];
        request.wr.atomic.compare_add = rest[2];
        request.wr.atomic.swap = rest[3];
        break;
    case IBV_WR_RDMA_WRITE_WITH_IMM:
        request.imm_data = htonl((uint32_t)rest[2]);
        /* fall through */
    default:
        request.wr.rdma.remote_addr = rest[0];
        request.wr.rdma.rkey = (uint32_t)rest[1];
    }
    if (is_datagram(end)) {
        request.wr.ud.ah = end->way;
        request.wr.ud.remote_qpn = end->peer;
        request.wr.ud.remote_qkey = (uint32_t)rest[order->arguments - 2];
    }
    return ibv_post_send(end->queue_pair, &request, &bad);
}

int work_post(struct end *end, const char *order, const char *arguments, char *answer)
{
    uint64_t number[6] = { 0 };
    int count = sscanf(arguments, "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, &number[0],
                       &number[1], &number[2], &number[3], &number[4], &number[5]);
    if (end->queue_pair == NULL || count < 2 || !is_inside(number[0], number[1]))
        return failed(answer, order, EINVAL);
    struct ibv_sge piece = {
        .addr = (uintptr_t)end->memory + number[0],
        .length = (uint32_t)number[1],
        .lkey = end->region->lkey,
    };
    int reason = EINVAL;
    if (strcmp(order, "receive") == 0)
        reason = post_receive(end, &piece);
    for (size_t index = 0; index < sizeof orders / sizeof *orders; index++)
        if (strcmp(order, orders[index].name) == 0 && count == orders[index].arguments + is_datagram(end))
            reason = post_send(end, &orders[index], &piece, number + 2);
    if (reason != 0)
        return failed(answer, order, reason);
    snprintf(answer, ANSWER, "posted");
    return 0;
}

int work_take(struct end *end, char *answer)
{
    const struct timespec pause = { .tv_nsec = 200000 };
    time_t last = time(NULL) + PATIENCE;
    struct ibv_wc found;
    int count;
    while ((count = ibv_poll_cq(end->completions, 1, &found)) == 0) {
        if (time(NULL) > last)
            return failed(answer, "take", ETIMEDOUT);
        nanosleep(&pause, NULL);
    }
    if (count < 0)
        return failed(answer, "ibv_poll_cq", EIO);
    end->taken = found;
    uint32_t immediate = found.wc_flags & IBV_WC_WITH_IMM ? ntohl(found.imm_data) : 0;
    snprintf(answer, ANSWER, "completed %d %d %u %u %d %u", found.status, found.opcode, found.byte_len, immediate,
             (found.wc_flags & IBV_WC_GRH) != 0, found.src_qp);
    return 0;
}
