/* Calls kernels of the other card: `traversal` walks a list there, `get` looks a key up in a hash table there, `prism` follows a pointer and
 * swaps two words at once, each in one round trip.
 *
 * One process has both cards, to keep the example short: what two programs would tell each other over a socket is at hand. It is plain
 * libibverbs but for what begins with stroma_.
 *
 *     cc examples/c/calls.c $(pkg-config --cflags --libs stroma) -o calls
 *     stroma exec -- ./calls
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stroma.h>

#define GID_INDEX 1
#define ELEMENTS 8

static void check(int is_fine, const char *what)
{
	if (!is_fine) {
		fprintf(stderr, "%s: %s\n", what, strerror(errno));
		exit(1);
	}
}

/* One end: a card, and all that is on it. */
struct end {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	union ibv_gid gid;
	uint8_t *memory;
};

/* What lies in the memory of the card that is called. */
struct element {
	uint64_t next;
	uint64_t key;
	uint64_t value;
};

struct data {
	struct element list[ELEMENTS];
	char values[ELEMENTS][16];
	struct stroma_get_bucket bucket;
	struct stroma_get_object object;
	char key[8];
	char value[24];
};

static struct end open_end(struct ibv_device *device)
{
	struct end end = {.context = ibv_open_device(device)};
	check(end.context != NULL, "ibv_open_device");
	check(!ibv_query_gid(end.context, 1, GID_INDEX, &end.gid), "ibv_query_gid");
	end.pd = ibv_alloc_pd(end.context);
	end.cq = ibv_create_cq(end.context, 16, NULL, NULL, 0);
	end.memory = aligned_alloc(4096, 4096);
	check(end.pd && end.cq && end.memory, "a domain, a completion queue, memory");
	memset(end.memory, 0, 4096);
	end.mr = ibv_reg_mr(end.pd, end.memory, 4096,
			    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
			    IBV_ACCESS_REMOTE_WRITE | STROMA_ACCESS_RPC);
	check(end.mr != NULL, "ibv_reg_mr");

	struct ibv_qp_init_attr_ex init = {
		.send_cq = end.cq,
		.recv_cq = end.cq,
		.cap = {.max_send_wr = 16, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = end.pd,
		.send_ops_flags = IBV_QP_EX_WITH_SEND,
	};
	struct stroma_qp_init_attr more = {
		.comp_mask = STROMA_QP_INIT_ATTR_RESULT_BYTES,
		.result_bytes = 4096,
	};
	end.qp = stroma_create_qp(end.context, &init, &more);
	check(end.qp != NULL, "stroma_create_qp");
	return end;
}

static void connect_end(struct end *end, const struct end *peer)
{
	struct ibv_qp_attr init = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | STROMA_ACCESS_RPC,
	};
	struct ibv_qp_attr receive = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer->qp->qp_num,
		.max_dest_rd_atomic = 16,
		.min_rnr_timer = 12,
		.ah_attr = {.is_global = 1, .port_num = 1,
			    .grh = {.dgid = peer->gid, .sgid_index = GID_INDEX, .hop_limit = 1}},
	};
	struct ibv_qp_attr send = {
		.qp_state = IBV_QPS_RTS,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 16,
	};
	check(!ibv_modify_qp(end->qp, &init,
			     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
	      "to INIT");
	check(!ibv_modify_qp(end->qp, &receive,
			     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				     IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
	      "to RTR");
	check(!ibv_modify_qp(end->qp, &send,
			     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
				     IBV_QP_MAX_QP_RD_ATOMIC),
	      "to RTS");
}

/* Begins a call: what follows says which. */
static struct stroma_qp_ex *begin(struct end *end, uint64_t wr_id)
{
	struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(end->qp);
	struct stroma_qp_ex *calls = stroma_qp_ex_from_ibv_qp_ex(qp);
	check(calls != NULL, "stroma_qp_ex_from_ibv_qp_ex");
	ibv_wr_start(qp);
	qp->wr_id = wr_id;
	qp->wr_flags = IBV_SEND_SIGNALED;
	return calls;
}

/* Posts the call and waits for its end; the length of its answer, which is at the front of this end's memory. */
static uint32_t finish(struct end *end, uint32_t answer)
{
	struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(end->qp);
	ibv_wr_set_sge(qp, end->mr->lkey, (uintptr_t)end->memory, answer);
	check(!ibv_wr_complete(qp), "ibv_wr_complete");

	struct ibv_wc wc;
	int found;
	do
		found = ibv_poll_cq(end->cq, 1, &wc);
	while (found == 0);
	check(found == 1, "ibv_poll_cq");
	if (wc.status != IBV_WC_SUCCESS || stroma_wc_rpc_status(&wc) != STROMA_RPC_OK) {
		fprintf(stderr, "call %lu: %s, status %#x\n", (unsigned long)wc.wr_id,
			ibv_wc_status_str(wc.status), stroma_wc_rpc_status(&wc));
		exit(1);
	}
	return wc.byte_len;
}

/* Lays a list of ELEMENTS elements and a table of one key into the memory of the card that is called. */
static struct data *lay_down(struct end *end)
{
	struct data *data = (struct data *)end->memory;
	for (int i = 0; i < ELEMENTS; i++) {
		data->list[i].next = i + 1 < ELEMENTS ? (uintptr_t)&data->list[i + 1] : 0;
		data->list[i].key = 100 + i;
		data->list[i].value = (uintptr_t)data->values[i];
		snprintf(data->values[i], sizeof(data->values[i]), "element %d", i);
	}
	memcpy(data->key, "colour", 6);
	snprintf(data->value, sizeof(data->value), "a deep shade of green");
	data->object = (struct stroma_get_object){.value_length = sizeof(data->value), .key_length = 6};
	data->bucket.entries[1] = (struct stroma_get_entry){
		.fingerprint = 0x5eed,
		.length = sizeof(data->object) + sizeof(data->key) + sizeof(data->value),
		.address = (uintptr_t)&data->object,
	};
	return data;
}

int main(void)
{
	int count;
	struct ibv_device **devices = ibv_get_device_list(&count);
	check(devices != NULL, "ibv_get_device_list");
	if (count < 2) {
		fprintf(stderr, "two cards are needed, and there are %d: stroma exec -- %s\n", count, "./calls");
		return 1;
	}
	struct end near = open_end(devices[0]), far = open_end(devices[1]);
	ibv_free_device_list(devices);
	connect_end(&near, &far);
	connect_end(&far, &near);
	struct data *data = lay_down(&far);

	struct stroma_kernel_info kernels[16];
	int known = stroma_query_kernels(far.context, kernels, 16);
	check(known >= 0, "stroma_query_kernels");
	printf("the card has %d slots with kernels\n", known);

	struct stroma_traversal walk = {
		.root = (uintptr_t)&data->list[0],
		.sought = 100 + ELEMENTS - 1,
		.mask = UINT64_MAX,
		.value_length = sizeof(data->values[0]),
		.hop_limit = ELEMENTS,
		.key_words = 1 << 1,
		.element_words = 3,
		.next_at = 0,
		.value_at = 2,
		.how = STROMA_TRAVERSAL_EQUAL,
	};
	stroma_wr_rpc(begin(&near, 1), STROMA_KERNEL_TRAVERSAL, far.mr->rkey, &walk, sizeof(walk));
	uint32_t length = finish(&near, walk.value_length);
	printf("traversal: %u bytes, \"%s\"\n", length, (char *)near.memory);
	if (strcmp((char *)near.memory, data->values[ELEMENTS - 1]) != 0)
		return 1;

	struct stroma_get get = {
		.bucket = (uintptr_t)&data->bucket,
		.fingerprint = 0x5eed,
		.hop_limit = 4,
		.key_length = 6,
		.key = "colour",
	};
	stroma_wr_rpc(begin(&near, 2), STROMA_KERNEL_GET, far.mr->rkey, &get, sizeof(get));
	length = finish(&near, sizeof(data->value));
	printf("get: %u bytes, \"%s\"\n", length, (char *)near.memory);
	if (strcmp((char *)near.memory, data->value) != 0)
		return 1;

	struct stroma_report *report = (struct stroma_report *)near.memory;
	char *result = (char *)near.memory + STROMA_REPORTS;
	stroma_wr_read_indirect(begin(&near, 3), far.mr->rkey, (uintptr_t)&data->list[3].value, sizeof(data->values[0]));
	finish(&near, STROMA_REPORTS + 64);
	printf("through a pointer: %u bytes, \"%s\"\n", report->length, result);
	if (report->outcome != STROMA_OUTCOME_DONE || strcmp(result, data->values[3]) != 0)
		return 1;

	/* Key and value of an element change together, if its key is still the one. */
	struct stroma_cas cas = {.length = 16, .comparison = STROMA_CAS_EQUAL};
	uint64_t old_key = 103, fresh[2] = {203, (uintptr_t)data->values[4]};
	memcpy(cas.compare, &old_key, sizeof(old_key));
	memset(cas.compare_mask, 0xff, sizeof(old_key));
	memcpy(cas.swap, fresh, sizeof(fresh));
	memset(cas.swap_mask, 0xff, sizeof(fresh));
	stroma_wr_cas_ext(begin(&near, 4), far.mr->rkey, (uintptr_t)&data->list[3].key, &cas);
	finish(&near, STROMA_REPORTS + 64);
	printf("swapped: the key was %lu, is %lu\n", (unsigned long)*(uint64_t *)result,
	       (unsigned long)data->list[3].key);
	return report->outcome != STROMA_OUTCOME_DONE || *(uint64_t *)result != old_key ||
	       memcmp(&data->list[3].key, fresh, sizeof(fresh)) != 0;
}
