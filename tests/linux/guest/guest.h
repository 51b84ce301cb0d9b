/* The Linux end of a wire: libibverbs on the kernel's rdma_rxe, ordered about line by line. */
#ifndef GUEST_H
#define GUEST_H

#include <infiniband/verbs.h>
#include <stddef.h>
#include <stdint.h>

/* Room for an answer, its line feed included. */
#define ANSWER 256

/* Bytes of registered memory. */
#define AREA (1 << 20)

#define PORT 1

/* Everything that one connection needs. Memory outlives connections. */
struct end {
    struct ibv_context *context;
    struct ibv_pd *domain;
    struct ibv_cq *completions;
    struct ibv_mr *region;
    struct ibv_qp *queue_pair;
    /* Where datagrams go. */
    struct ibv_ah *way;
    uint32_t peer;
    uint8_t *memory;
    /* The completion that was taken last. */
    struct ibv_wc taken;
};

/* What went wrong, with errno's reason; as an answer of the line protocol. */
int failed(char *answer, const char *operation, int reason);

/* Makes an rxe device on a network interface. Zero, or an errno. */
int link_add(const char *device, const char *interface);

/* Opens the device, and registers memory. Zero, or a failure. */
int end_open(struct end *end, char *answer);

/* A new queue pair in place of the one before, of the service that is named: "created QPN BASE RKEY". */
int end_create(struct end *end, const char *arguments, char *answer);

/* Takes the queue pair to ready-to-send: "connected". */
int end_connect(struct end *end, const char *arguments, char *answer);

/* From now on datagrams go to this queue pair, by this way. Zero, or an errno. */
int datagram_aim(struct end *end, uint32_t peer, struct ibv_ah *way);

/* Forgets where datagrams go. Zero, or an errno. */
int datagram_forget(struct end *end);

/* Datagrams go to who has sent what was taken last, whose GRH is at an offset of the memory: "aimed". */
int datagram_reply(struct end *end, const char *arguments, char *answer);

/* How many datagrams came with a wrong key: "violations COUNT". */
int datagram_violations(struct end *end, char *answer);

/* Posts a request or a receive: "posted". */
int work_post(struct end *end, const char *order, const char *arguments, char *answer);

/* Waits for a completion: "completed STATUS OPCODE BYTES IMMEDIATE HAS_GRH SOURCE_QPN". */
int work_take(struct end *end, char *answer);

/* Bytes by seed: "filled". */
int pattern_fill(struct end *end, const char *arguments, char *answer);

/* Compares every byte: "good", or "bad" and the first place that differs. */
int pattern_check(struct end *end, const char *arguments, char *answer);

#endif
