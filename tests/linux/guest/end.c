/* Device, memory and queue pair: what has to be there before the first request. */
#include "guest.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RIGHTS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)
#define WRITES (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)
#define DEPTH 64
/* READs and atomics in flight, each way; the card takes as many. */
#define READS 16
#define RETRIES 7
/* 0.64 ms. */
#define RNR_TIMER 12

/* What a service is called, what its peers may do, and which attributes it needs to begin, to become ready to receive and to send. */
static const struct service {
    const char *name;
    enum ibv_qp_type type;
    unsigned rights;
    int begin, receive, send;
} services[] = {
    { "rc", IBV_QPT_RC, RIGHTS, IBV_QP_ACCESS_FLAGS,
      IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
      IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC },
    { "uc", IBV_QPT_UC, WRITES, IBV_QP_ACCESS_FLAGS, IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
      IBV_QP_SQ_PSN },
    { "ud", IBV_QPT_UD, 0, IBV_QP_QKEY, 0, IBV_QP_SQ_PSN },
};

static const struct service *by_name(const char *name)
{
    for (size_t index = 0; index < sizeof services / sizeof *services; index++)
        if (strcmp(name, services[index].name) == 0)
            return &services[index];
    return NULL;
}

static const struct service *by_type(enum ibv_qp_type type)
{
    for (size_t index = 0; index < sizeof services / sizeof *services; index++)
        if (type == services[index].type)
            return &services[index];
    return NULL;
}

int failed(char *answer, const char *operation, int reason)
{
    snprintf(answer, ANSWER, "failed %s: %s", operation, strerror(reason));
    return -1;
}

/* The GID of an IPv6 address is the address itself, and that of an IPv4 address ::ffff:a.b.c.d. */
static int gid_of(const char *address, union ibv_gid *gid)
{
    char text[64];
    snprintf(text, sizeof text, "%s%s", strchr(address, ':') == NULL ? "::ffff:" : "", address);
    return inet_pton(AF_INET6, text, gid->raw) == 1 ? 0 : EINVAL;
}

/* Where the device's table has the GID of an own address, as RoCE version 2. */
static int find_gid(struct end *end, const char *address, uint8_t *place)
{
    union ibv_gid wanted;
    if (gid_of(address, &wanted) != 0)
        return EINVAL;
    struct ibv_gid_entry entry;
    for (uint32_t index = 0; index < 32; index++) {
        if (ibv_query_gid_ex(end->context, PORT, index, &entry, 0) == 0 && entry.gid_type == IBV_GID_TYPE_ROCE_V2
            && memcmp(&entry.gid, &wanted, sizeof wanted) == 0) {
            *place = (uint8_t)index;
            return 0;
        }
    }
    return ENOENT;
}

int end_open(struct end *end, char *answer)
{
    int count = 0;
    struct ibv_device **devices = ibv_get_device_list(&count);
    if (devices == NULL || count == 0)
        return failed(answer, "ibv_get_device_list", ENODEV);
    end->context = ibv_open_device(devices[0]);
    ibv_free_device_list(devices);
    if (end->context == NULL)
        return failed(answer, "ibv_open_device", errno);
    if ((end->domain = ibv_alloc_pd(end->context)) == NULL)
        return failed(answer, "ibv_alloc_pd", errno);
    if ((end->completions = ibv_create_cq(end->context, 2 * DEPTH, NULL, NULL, 0)) == NULL)
        return failed(answer, "ibv_create_cq", errno);
    int reason = posix_memalign((void **)&end->memory, 4096, AREA);
    if (reason != 0)
        return failed(answer, "posix_memalign", reason);
    memset(end->memory, 0, AREA);
    if ((end->region = ibv_reg_mr(end->domain, end->memory, AREA, RIGHTS)) == NULL)
        return failed(answer, "ibv_reg_mr", errno);
    return 0;
}

int end_create(struct end *end, const char *arguments, char *answer)
{
    char name[8];
    uint32_t key;
    const struct service *service = sscanf(arguments, "%7s %" SCNu32, name, &key) == 2 ? by_name(name) : NULL;
    if (service == NULL)
        return failed(answer, "create", EINVAL);
    int reason = end->queue_pair == NULL ? 0 : ibv_destroy_qp(end->queue_pair);
    if (reason != 0)
        return failed(answer, "ibv_destroy_qp", reason);
    end->queue_pair = NULL;
    if ((reason = datagram_forget(end)) != 0)
        return failed(answer, "ibv_destroy_ah", reason);
    struct ibv_qp_init_attr wanted = {
        .send_cq = end->completions,
        .recv_cq = end->completions,
        .cap = { .max_send_wr = DEPTH, .max_recv_wr = DEPTH, .max_send_sge = 1, .max_recv_sge = 1 },
        .qp_type = service->type,
        .sq_sig_all = 1,
    };
    if ((end->queue_pair = ibv_create_qp(end->domain, &wanted)) == NULL)
        return failed(answer, "ibv_create_qp", errno);
    struct ibv_qp_attr init = {
        .qp_state = IBV_QPS_INIT, .pkey_index = 0, .port_num = PORT, .qp_access_flags = service->rights, .qkey = key,
    };
    reason = ibv_modify_qp(end->queue_pair, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | service->begin);
    if (reason != 0)
        return failed(answer, "ibv_modify_qp to INIT", reason);
    snprintf(answer, ANSWER, "created %u %" PRIu64 " %u", end->queue_pair->qp_num, (uint64_t)(uintptr_t)end->memory,
             end->region->rkey);
    return 0;
}

/* Path MTU by its size in bytes. */
static enum ibv_mtu mtu_of(unsigned bytes)
{
    enum ibv_mtu mtu = IBV_MTU_256;
    while (bytes > 256 && mtu < IBV_MTU_4096) {
        bytes /= 2;
        mtu++;
    }
    return mtu;
}

int end_connect(struct end *end, const char *arguments, char *answer)
{
    unsigned peer, send_psn, receive_psn, mtu, timeout;
    char own[48], address[48];
    union ibv_gid gid;
    uint8_t place;
    const struct service *service = end->queue_pair == NULL ? NULL : by_type(end->queue_pair->qp_type);
    if (service == NULL
        || sscanf(arguments, "%u %u %u %u %u %47s %47s", &peer, &send_psn, &receive_psn, &mtu, &timeout, own, address) != 7
        || gid_of(address, &gid) != 0)
        return failed(answer, "connect", EINVAL);
    int reason = find_gid(end, own, &place);
    if (reason != 0)
        return failed(answer, "GID of the guest's address", reason);
    struct ibv_qp_attr receive = {
        .qp_state = IBV_QPS_RTR,
        .path_mtu = mtu_of(mtu),
        .dest_qp_num = peer,
        .rq_psn = receive_psn,
        .max_dest_rd_atomic = READS,
        .min_rnr_timer = RNR_TIMER,
        .ah_attr = { .is_global = 1, .port_num = PORT,
                     .grh = { .dgid = gid, .sgid_index = place, .hop_limit = 64 } },
    };
    reason = ibv_modify_qp(end->queue_pair, &receive, IBV_QP_STATE | service->receive);
    if (reason != 0)
        return failed(answer, "ibv_modify_qp to RTR", reason);
    struct ibv_qp_attr send = {
        .qp_state = IBV_QPS_RTS,
        .sq_psn = send_psn,
        .timeout = (uint8_t)timeout,
        .retry_cnt = RETRIES,
        .rnr_retry = RETRIES,
        .max_rd_atomic = READS,
    };
    reason = ibv_modify_qp(end->queue_pair, &send, IBV_QP_STATE | service->send);
    if (reason != 0)
        return failed(answer, "ibv_modify_qp to RTS", reason);
    reason = service->type == IBV_QPT_UD ? datagram_aim(end, peer, ibv_create_ah(end->domain, &receive.ah_attr)) : 0;
    if (reason != 0)
        return failed(answer, "ibv_create_ah", reason);
    snprintf(answer, ANSWER, "connected");
    return 0;
}
