#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <unistd.h>

const int clinux_netlink_route = NETLINK_ROUTE;
const int clinux_netlink_uevents = NETLINK_KOBJECT_UEVENT;
const unsigned int clinux_netlink_network_groups =
    RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE;

int clinux_open_netlink(int protocol, unsigned int groups) {
  int number = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);
  if (number == -1) return -1;
  struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = groups};
  if (bind(number, (struct sockaddr *)&address, sizeof address) == 0) return number;
  int error = errno;
  close(number);
  errno = error;
  return -1;
}

int clinux_request_dump(int socket, int kind, unsigned int sequence) {
  struct {
    struct nlmsghdr header;
    struct rtgenmsg family;
  } request = {
      .header = {.nlmsg_len = NLMSG_LENGTH(sizeof(struct rtgenmsg)),
                 .nlmsg_type = (uint16_t)kind,
                 .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
                 .nlmsg_seq = sequence},
      .family = {.rtgen_family = AF_UNSPEC},
  };
  struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
  return sendto(socket, &request, request.header.nlmsg_len, 0, (struct sockaddr *)&kernel, sizeof kernel) == -1 ? -1
                                                                                                                 : 0;
}

ssize_t clinux_receive_netlink(int socket, void *buffer, size_t length) {
  for (;;) {
    struct sockaddr_nl sender = {0};
    socklen_t size = sizeof sender;
    ssize_t count = recvfrom(socket, buffer, length, MSG_TRUNC, (struct sockaddr *)&sender, &size);
    if (count == -1) return -1;
    // Only the kernel has the number 0.
    if (size != sizeof sender || sender.nl_pid != 0) continue;
    if ((size_t)count > length) {
      errno = ENOBUFS;
      return -1;
    }
    return count;
  }
}
