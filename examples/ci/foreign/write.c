/* A test as a repository may have it that knows nothing of Stroma: it WRITEs from the first device to the second, and looks at every byte.
 * Plain libibverbs; it takes whatever devices there are. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIZE 20000 /* some packets, the last of them not full */
#define AT 100	   /* where they go: what is before and behind must stay */
#define GID_INDEX 1

struct end {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	union ibv_gid gid;
	unsigned char memory[AT + SIZE + AT];
};

static void check(int is_fine, const char *what)
{
	if (!is_fine) {
		fprintf(stderr, "%s: %s\n", what, strerror(errno));
		exit(1);
	}
}

static void open_end(struct end *end, struct ibv_device *device)
{
	end->context = ibv_open_device(device);
	check(end->context && !ibv_query_gid(end->context, 1, GID_INDEX, &end->gid), ibv_get_device_name(device));
	end->pd = ibv_alloc_pd(end->context);
	end->cq = ibv_create_cq(end->context, 4, NULL, NULL, 0);
	check(end->pd && end->cq, "a domain, a completion queue");
	end->mr = ibv_reg_mr(end->pd, end->memory, sizeof(end->memory), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	struct ibv_qp_init_attr init = {
		.send_cq = end->cq, .recv_cq = end->cq, .qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = 4, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
	};
	end->qp = ibv_create_qp(end->pd, &init);
	check(end->mr && end->qp, "a region, a queue pair");
}

static void connect_end(struct end *end, const struct end *peer)
{
	struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};
	struct ibv_qp_attr receive = {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = peer->qp->qp_num, .min_rnr_timer = 12,
		.ah_attr = {.is_global = 1, .port_num = 1,
			    .grh = {.dgid = peer->gid, .sgid_index = GID_INDEX, .hop_limit = 1}},
	};
	struct ibv_qp_attr send = {.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7};
	check(!ibv_modify_qp(end->qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS), "to INIT");
	check(!ibv_modify_qp(end->qp, &receive, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER), "to RTR");
	check(!ibv_modify_qp(end->qp, &send, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC), "to RTS");
}

static void write_to(struct end *end, const struct end *peer)
{
	struct ibv_sge from = {.addr = (uintptr_t)end->memory + AT, .length = SIZE, .lkey = end->mr->lkey};
	struct ibv_send_wr request = {
		.sg_list = &from, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {.remote_addr = (uintptr_t)peer->memory + AT, .rkey = peer->mr->rkey},
	}, *bad;
	check(!ibv_post_send(end->qp, &request, &bad), "ibv_post_send");
	struct ibv_wc wc;
	int found;
	while ((found = ibv_poll_cq(end->cq, 1, &wc)) == 0)
		;
	check(found == 1, "ibv_poll_cq");
	if (wc.status != IBV_WC_SUCCESS) {
		fprintf(stderr, "the WRITE: %s\n", ibv_wc_status_str(wc.status));
		exit(1);
	}
}

int main(void)
{
	static struct end near, far;
	int count = 0;
	struct ibv_device **devices = ibv_get_device_list(&count);
	if (!devices || count < 2) {
		fprintf(stderr, "two devices are needed, and there are %d\n", count);
		return 1;
	}
	open_end(&near, devices[0]);
	open_end(&far, devices[1]);
	connect_end(&near, &far);
	connect_end(&far, &near);
	for (int i = 0; i < SIZE; i++)
		near.memory[AT + i] = i % 251;
	write_to(&near, &far);

	for (int i = 0; i < AT + SIZE + AT; i++) {
		int expected = i < AT || i >= AT + SIZE ? 0 : (i - AT) % 251;
		if (far.memory[i] != expected) {
			fprintf(stderr, "byte %d is %d, and %d was expected\n", i, far.memory[i], expected);
			return 1;
		}
	}
	printf("%d bytes from %s to %s, all as expected\n", SIZE, ibv_get_device_name(devices[0]), ibv_get_device_name(devices[1]));
	return 0;
}
