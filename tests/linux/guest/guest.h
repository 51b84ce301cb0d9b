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

/* Everything that one connection needs. Memory outlives connections. */
struct end {
    struct ibv_context *context;
    struct ibv_pd *domain;
    struct ibv_cq *completions;
    struct ibv_mr *region;
    struct ibv_qp *queue_pair;
    uint8_t *memory;
};

/* What went wrong, with errno's reason; as an answer of the line protocol. */
int failed(char *answer, const char *operation, int reason);

/* Makes an rxe device on a network interface. Zero, or an errno. */
int link_add(const char *device, const char *interface);

/* Opens the device, and registers memory. Zero, or a failure. */
int end_open(struct end *end, char *answer);

/* A new queue pair in place of the one before, of the service that is named: "created QPN BASE RKEY". */
int end_create(struct end *end, const char *service, char *answer);

/* Takes the queue pair to ready-to-send: "connected". */
int end_connect(struct end *end, const char *arguments, char *answer);

/* Posts a request or a receive: "posted". */
int work_post(struct end *end, const char *order, const char *arguments, char *answer);

/* Waits for a completion: "completed STATUS OPCODE BYTES IMMEDIATE". */
int work_take(struct end *end, char *answer);

/* Bytes by seed: "filled". */
int pattern_fill(struct end *end, const char *arguments, char *answer);

/* Compares every byte: "good", or "bad" and the first place that differs. */
int pattern_check(struct end *end, const char *arguments, char *answer);

#endif
