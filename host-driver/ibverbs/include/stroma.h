/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Extended verbs: calls of kernels on the peer's card, in the manner of mlx5dv. A call is a request like others: it has a wr_id, completes to
 * an ordinary completion queue, and its answer comes to memory that the caller has registered.
 *
 *     struct stroma_qp_ex *calls = stroma_qp_ex_from_ibv_qp_ex(qp);
 *
 *     ibv_wr_start(qp);
 *     qp->wr_id = 1;
 *     qp->wr_flags = IBV_SEND_SIGNALED;
 *     stroma_wr_rpc(calls, STROMA_KERNEL_TRAVERSAL, rkey, &parameters, sizeof(parameters));
 *     ibv_wr_set_sge(qp, mr->lkey, (uintptr_t)answer, sizeof(answer));
 *     ibv_wr_complete(qp);
 *
 * The completion has the op-code IBV_WC_DRIVER1. If its status is IBV_WC_SUCCESS, byte_len is the length of the answer, and vendor_err
 * how the kernel ended: see enum stroma_rpc_status.
 *
 * The peer of a caller lets it: its queue pair comes from stroma_create_qp with result_bytes, is taken to INIT with
 * STROMA_ACCESS_RPC among its access flags, and so is the region registered that the kernel acts on. That right is to call, and no
 * more: for what a kernel reads, queue pair and region need IBV_ACCESS_REMOTE_READ, too, and for what it writes IBV_ACCESS_REMOTE_WRITE.
 */
#ifndef STROMA_H
#define STROMA_H

#include <stddef.h>
#include <stdint.h>
#include <infiniband/verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A right beside those of enum ibv_access_flags, in the range that other adapters pass over: kernels may act under the key, as
 * far as the peer may read and write. */
#define STROMA_ACCESS_RPC (1u << 29)

/* Kernels by their op-codes. A card says by stroma_query_kernels which it has; docs/kernels.md tells how to add one. */
enum stroma_kernel {
	STROMA_KERNEL_TRAVERSAL = 1,
	STROMA_KERNEL_GET = 2,
	STROMA_KERNEL_CONSISTENCY = 3,
	STROMA_KERNEL_SHUFFLE = 4,
	STROMA_KERNEL_HYPERLOGLOG = 5,
	STROMA_KERNEL_PRISM = 6,
};

/* How a call ended. Kernels have more of their own, from STROMA_RPC_KERNEL on. */
enum stroma_rpc_status {
	STROMA_RPC_OK = 0,
	STROMA_RPC_UNKNOWN_OPERATION = 1,
	STROMA_RPC_ACCESS = 2,
	STROMA_RPC_LIMIT = 3,
	STROMA_RPC_ABORTED = 4,
	STROMA_RPC_TOO_LONG = 5,
	STROMA_RPC_HOST = 6,
	STROMA_RPC_KERNEL = 0x100,
};

/* traversal and get: nothing fits the key. */
#define STROMA_RPC_NOT_FOUND 0x100

/* Parameters of traversal: walks elements of element_words words of 8 bytes until a key fits, and answers the value behind it. */
struct stroma_traversal {
	uint64_t root;          /* address of the first element */
	uint64_t sought;        /* the key */
	uint64_t mask;          /* bits of keys that count */
	uint32_t value_length;  /* bytes of the answer */
	uint16_t hop_limit;     /* most elements that are looked at */
	uint8_t key_words;      /* words of an element that are keys, by bit */
	uint8_t element_words;  /* words of an element, 1 to 8 */
	uint8_t next_at;        /* word with the pointer to the next element, or the left one */
	uint8_t right_at;       /* word with the pointer to the right element of a tree */
	uint8_t value_at;       /* word of the value */
	uint8_t how;            /* a predicate, and STROMA_TRAVERSAL_* */
} __attribute__((packed));

#define STROMA_TRAVERSAL_EQUAL 0
#define STROMA_TRAVERSAL_LESS 1
#define STROMA_TRAVERSAL_GREATER 2
#define STROMA_TRAVERSAL_NOT_EQUAL 3
#define STROMA_TRAVERSAL_RELATIVE (1 << 2) /* value_at is counted from the key that fits */
#define STROMA_TRAVERSAL_INLINE (1 << 3)   /* the value begins at that word, which is no pointer */
#define STROMA_TRAVERSAL_TREE (1 << 4)     /* elements have two successors */

/* Parameters of get: the value of a key in a hash table of 64-byte buckets, three entries and a link each. */
struct stroma_get {
	uint64_t bucket;      /* address of the bucket where the chain begins */
	uint32_t fingerprint; /* of the key */
	uint16_t hop_limit;   /* most buckets that are looked at */
	uint8_t key_length;   /* bytes of the key, 1 to 32 */
	uint8_t spare;
	uint8_t key[32];      /* zeros behind it */
} __attribute__((packed));

struct stroma_get_entry {
	uint32_t fingerprint;
	uint32_t length;  /* bytes of the whole object */
	uint64_t address; /* 0: the entry is empty */
} __attribute__((packed));

struct stroma_get_bucket {
	struct stroma_get_entry entries[3];
	uint64_t next; /* 0: there is none */
	uint64_t spare;
} __attribute__((packed));

/* The first bytes of an object; the key follows, filled up with zeros to a multiple of 8 bytes, then the value. */
struct stroma_get_object {
	uint32_t value_length;
	uint16_t key_length;
	uint16_t flags; /* 0 */
} __attribute__((packed));

/* What the kernel prism tells of an operation, at the front of its answers: there is room for four, and a request of one fills the first. */
struct stroma_report {
	uint8_t outcome;  /* an enum stroma_outcome */
	uint8_t stage;    /* what of it was refused or failed: its pointer, its bytes */
	uint8_t flags;    /* STROMA_REPORT_* */
	uint8_t spare;
	uint32_t length;  /* bytes that were read, or that were there before */
	uint64_t address; /* where */
} __attribute__((packed));

#define STROMA_REPORTS (4 * sizeof(struct stroma_report))
#define STROMA_REPORT_APPLIED (1 << 0)  /* it was carried out */
#define STROMA_REPORT_ANSWERED (1 << 1) /* its bytes are in the answer */

enum stroma_outcome {
	STROMA_OUTCOME_NOT_REACHED = 0,
	STROMA_OUTCOME_DONE = 1,
	STROMA_OUTCOME_SKIPPED = 2,
	STROMA_OUTCOME_NOT_SWAPPED = 3,
	STROMA_OUTCOME_NO_BUFFER = 4,
	STROMA_OUTCOME_TOO_LONG = 5,
	STROMA_OUTCOME_NULL = 6,
	STROMA_OUTCOME_REFUSED = 7,
	STROMA_OUTCOME_FAILED = 8,
};

/* What is offered stands in this relation to what is there. */
enum stroma_comparison {
	STROMA_CAS_EQUAL = 0,
	STROMA_CAS_LESS = 1,
	STROMA_CAS_GREATER = 2,
	STROMA_CAS_NOT_EQUAL = 3,
};

/* A compare-and-swap of 8, 16, 24 or 32 bytes, as one little-endian number; bytes behind the length do not count. */
struct stroma_cas {
	uint32_t length;
	uint32_t comparison;       /* an enum stroma_comparison */
	uint8_t compare[32];       /* what is offered */
	uint8_t compare_mask[32];  /* bits that are compared */
	uint8_t swap[32];          /* what is swapped in */
	uint8_t swap_mask[32];     /* bits that are swapped */
};

/* A queue pair that calls kernels. */
struct stroma_qp_ex;

enum stroma_qp_init_attr_mask {
	STROMA_QP_INIT_ATTR_RESULT_BYTES = 1 << 0,
};

struct stroma_qp_init_attr {
	uint64_t comp_mask;
	uint32_t result_bytes; /* most bytes of an answer that the peer is given, up to 64 KiB */
};

struct stroma_kernel_info {
	uint16_t kernel;
	uint16_t version;
	uint32_t parameter_layout;
};

struct ibv_qp *stroma_create_qp(struct ibv_context *context, struct ibv_qp_init_attr_ex *init,
				const struct stroma_qp_init_attr *more);

/* NULL and errno if kernels cannot be called over it. */
struct stroma_qp_ex *stroma_qp_ex_from_ibv_qp_ex(struct ibv_qp_ex *qp);

/* Parameters are copied. */
void stroma_wr_rpc(struct stroma_qp_ex *qp, uint16_t kernel, uint32_t rkey, const void *parameters, size_t length);

/* Streams what ibv_wr_set_sge_list names through the kernel; the first parameter_bytes of it are its parameters. */
void stroma_wr_rpc_write(struct stroma_qp_ex *qp, uint16_t kernel, uint32_t rkey, size_t parameter_bytes,
			 uint32_t result_lkey, uint64_t result, uint32_t result_length);

/* Reads length bytes, 1 to 4096, from the address that stands at pointer in the peer's memory. Both lie under the key. The answer, whose place
 * ibv_wr_set_sge names, has STROMA_REPORTS bytes of reports, then the bytes that were read, filled up to a multiple of 64: the place is so long. */
void stroma_wr_read_indirect(struct stroma_qp_ex *qp, uint32_t rkey, uint64_t pointer, uint32_t length);

/* Compares and swaps 1 to 4 words at an address that is a multiple of 8. The answer has what was there before behind its reports, and the first
 * of these says whether it was swapped. Other chains of the same kernel see all of it or nothing; WRITEs, ibv_wr_atomic_* and the peer's processor
 * may come in between. */
void stroma_wr_cas_ext(struct stroma_qp_ex *qp, uint32_t rkey, uint64_t address, const struct stroma_cas *cas);

/* How many kernels the card has, of which as many as there is room for are told; -1 and errno. */
int stroma_query_kernels(struct ibv_context *context, struct stroma_kernel_info *list, size_t room);

static inline uint32_t stroma_wc_rpc_status(const struct ibv_wc *wc)
{
	return wc->vendor_err;
}

#ifdef __cplusplus
}
#endif

#endif
