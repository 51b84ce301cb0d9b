/* Datagrams: where they go, and those that were refused. */
#include "guest.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

int datagram_forget(struct end *end)
{
    int reason = end->way == NULL ? 0 : ibv_destroy_ah(end->way);
    end->way = NULL;
    return reason;
}

int datagram_aim(struct end *end, uint32_t peer, struct ibv_ah *way)
{
    if (way == NULL)
        return errno;
    int reason = datagram_forget(end);
    end->peer = peer;
    end->way = way;
    return reason;
}

int datagram_reply(struct end *end, const char *arguments, char *answer)
{
    uint64_t offset;
    if (sscanf(arguments, "%" SCNu64, &offset) != 1 || offset > AREA - sizeof(struct ibv_grh))
        return failed(answer, "reply", EINVAL);
    struct ibv_grh *header = (struct ibv_grh *)(end->memory + offset);
    int reason = datagram_aim(end, end->taken.src_qp, ibv_create_ah_from_wc(end->domain, &end->taken, header, PORT));
    if (reason != 0)
        return failed(answer, "ibv_create_ah_from_wc", reason);
    snprintf(answer, ANSWER, "aimed");
    return 0;
}

int datagram_violations(struct end *end, char *answer)
{
    struct ibv_port_attr port;
    int reason = ibv_query_port(end->context, PORT, &port);
    if (reason != 0)
        return failed(answer, "ibv_query_port", reason);
    snprintf(answer, ANSWER, "violations %u", port.qkey_viol_cntr);
    return 0;
}
