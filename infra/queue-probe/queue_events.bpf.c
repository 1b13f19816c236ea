// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// Events of a queue for the recorder of testbed/guest/queue_record.go, which writes them as the binary form of a queue log:
// each packet that the root discipline with the handle `root_handle` takes and gives out, and each packet that is freed as
// a drop on the way out of a device with that root discipline. The same tracepoints as queue.bt.
//
// Compiled without any header: what is needed of the kernel's structures is named below, and where the fields are is
// looked up in the running kernel's BTF when the programme is loaded (CO-RE). Needs a kernel 5.17 or later with BTF.
// The helpers that read the kernel's memory are for programmes under the GPL, hence the second licence.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

#define SEC(name) __attribute__((section(name), used))
#define KERNEL __attribute__((preserve_access_index))
#define INLINE static inline __attribute__((always_inline))

// Of include/uapi/linux/bpf.h.
#define BPF_MAP_TYPE_RINGBUF 27
#define BPF_RB_NO_WAKEUP 1
#define BPF_RB_FORCE_WAKEUP 2
#define BPF_RB_AVAIL_DATA 0
static u64 (*const ktime_get_ns)(void) = (void *)5;
static long (*const probe_read_kernel)(void *to, u32 bytes, const void *from) = (void *)113;
static void *(*const ringbuf_reserve)(void *map, u64 bytes, u64 flags) = (void *)131;
static void (*const ringbuf_submit)(void *data, u64 flags) = (void *)132;
static u64 (*const ringbuf_query)(void *map, u64 flags) = (void *)134;

#define IFNAMSIZ 16
#define HEAD_BYTES 100
#define MOST_AT_ONCE 64
#define RING_BYTES (1 << 24)
// The recorder reads every tenth of a second, and is woken before that where this much waits.
#define WAKING_BYTES (RING_BYTES / 4)

struct net_device;
struct Qdisc;

struct sk_buff {
	struct sk_buff *next;
	struct net_device *dev;
	u32 len, data_len;
	u16 mac_header;
	u8 *head, *data;
} KERNEL;

struct netdev_queue {
	struct net_device *dev;
} KERNEL;

struct net_device {
	char name[IFNAMSIZ];
	struct Qdisc *qdisc;
} KERNEL;

struct qdisc_skb_head {
	u32 qlen;
} KERNEL;

struct gnet_stats_queue {
	u32 qlen, backlog, drops, requeues, overlimits;
} KERNEL;

struct Qdisc {
	u32 limit, handle;
	struct qdisc_skb_head q;
	struct gnet_stats_queue qstats;
	struct netdev_queue *dev_queue;
} KERNEL;

// As the recorder reads it: little-endian, without gaps.
struct event {
	u64 time_ns, skb;
	u64 lost; // events lost so far
	u32 handle, limit, packets, qstats_packets, bytes, drops, requeues, overlimits;
	u32 packet_bytes;
	u16 captured;
	u8 kind, unused;
	char device[IFNAMSIZ];
	u8 head[HEAD_BYTES];
	u8 padding[4];
};

enum { DEQUEUED = 0, ENQUEUED = 1, FREED = 2 };

#define READ(from, field)                                                                   \
	({                                                                                  \
		__typeof__((from)->field) found = 0;                                        \
		probe_read_kernel(&found, sizeof found, &(from)->field);                    \
		found;                                                                      \
	})

struct {
	int (*type)[BPF_MAP_TYPE_RINGBUF];
	int (*max_entries)[RING_BYTES];
} events SEC(".maps");

const volatile u32 root_handle = 0;
u64 lost = 0;

INLINE void send(struct sk_buff *skb, struct Qdisc *queue, struct net_device *device, u8 kind)
{
	u64 now_ns = ktime_get_ns();
	struct event *event = ringbuf_reserve(&events, sizeof *event, 0);
	if (!event) {
		__sync_fetch_and_add(&lost, 1);
		return;
	}
	event->time_ns = now_ns;
	event->skb = (u64)skb;
	event->lost = *(volatile u64 *)&lost;
	event->handle = READ(queue, handle);
	event->limit = READ(queue, limit);
	event->packets = READ(queue, q.qlen);
	event->qstats_packets = READ(queue, qstats.qlen);
	event->bytes = READ(queue, qstats.backlog);
	event->drops = READ(queue, qstats.drops);
	event->requeues = READ(queue, qstats.requeues);
	event->overlimits = READ(queue, qstats.overlimits);
	event->kind = kind;
	event->unused = 0;
	probe_read_kernel(event->device, IFNAMSIZ, &device->name);
	u32 bytes = READ(skb, len), linear = bytes - READ(skb, data_len);
	event->packet_bytes = bytes;
	if (linear > HEAD_BYTES)
		linear = HEAD_BYTES;
	event->captured = probe_read_kernel(event->head, linear, READ(skb, data)) == 0 ? linear : 0;
	// To be woken for each event would cost the machine more than the events do.
	ringbuf_submit(event, ringbuf_query(&events, BPF_RB_AVAIL_DATA) > WAKING_BYTES ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
}

SEC("raw_tp/qdisc_enqueue")
int enqueued(u64 *arguments)
{
	struct Qdisc *queue = (struct Qdisc *)arguments[0];
	struct netdev_queue *of = (struct netdev_queue *)arguments[1];
	if (READ(queue, handle) == root_handle)
		send((struct sk_buff *)arguments[2], queue, READ(of, dev), ENQUEUED);
	return 0;
}

SEC("raw_tp/qdisc_dequeue")
int dequeued(u64 *arguments)
{
	struct Qdisc *queue = (struct Qdisc *)arguments[0];
	struct netdev_queue *of = (struct netdev_queue *)arguments[1];
	int packets = (int)arguments[2];
	struct sk_buff *skb = (struct sk_buff *)arguments[3];
	if (!skb || READ(queue, handle) != root_handle)
		return 0;
	struct net_device *device = READ(of, dev);
	// Several packets that leave at once are a list.
	int number = 0;
	for (; number < MOST_AT_ONCE && number < packets && skb; number++) {
		send(skb, queue, device, DEQUEUED);
		skb = READ(skb, next);
	}
	if (number < packets)
		__sync_fetch_and_add(&lost, packets - number);
	return 0;
}

SEC("raw_tp/kfree_skb")
int freed(u64 *arguments)
{
	struct sk_buff *skb = (struct sk_buff *)arguments[0];
	struct net_device *device = READ(skb, dev);
	struct Qdisc *queue = READ(device, qdisc);
	if (!queue || READ(queue, handle) != root_handle)
		return 0;
	// At a queue the data begin with the Ethernet header. A packet that the device received is past it, and was in no queue.
	u8 *frame = READ(skb, head);
	if (frame + READ(skb, mac_header) == READ(skb, data))
		send(skb, queue, device, FREED);
	return 0;
}

char licence[] SEC("license") = "GPL";
