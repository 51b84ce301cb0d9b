/* What `rdma link add NAME type rxe netdev INTERFACE` does: one netlink message. Saves the program and the libraries it needs. */
#include "guest.h"

#include <errno.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct message {
    struct nlmsghdr header;
    char body[128];
};

static void attribute(struct message *message, uint16_t kind, const char *text)
{
    struct nlattr *attribute = (struct nlattr *)((char *)message + NLMSG_ALIGN(message->header.nlmsg_len));
    attribute->nla_type = kind;
    attribute->nla_len = (uint16_t)(NLA_HDRLEN + strlen(text) + 1);
    strcpy((char *)attribute + NLA_HDRLEN, text);
    message->header.nlmsg_len = NLMSG_ALIGN(message->header.nlmsg_len) + NLA_ALIGN(attribute->nla_len);
}

int link_add(const char *device, const char *interface)
{
    struct message message = { .header = {
        .nlmsg_len = NLMSG_LENGTH(0),
        .nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_NEWLINK),
        .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK,
    } };
    attribute(&message, RDMA_NLDEV_ATTR_DEV_NAME, device);
    attribute(&message, RDMA_NLDEV_ATTR_LINK_TYPE, "rxe");
    attribute(&message, RDMA_NLDEV_ATTR_NDEV_NAME, interface);

    int socket_fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_RDMA);
    if (socket_fd < 0)
        return errno;
    struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
    int reason = 0;
    struct { struct nlmsghdr header; struct nlmsgerr error; char rest[256]; } reply;
    if (sendto(socket_fd, &message, message.header.nlmsg_len, 0, (struct sockaddr *)&kernel, sizeof kernel) < 0
        || recv(socket_fd, &reply, sizeof reply, 0) < 0)
        reason = errno;
    else if (reply.header.nlmsg_type != NLMSG_ERROR)
        reason = EPROTO;
    else
        reason = -reply.error.error;
    close(socket_fd);
    return reason;
}
