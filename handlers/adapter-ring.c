/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * A look at the ring that the kernel puts commands into, to tell whether a command is the only one
 * there. It only steers which thread executes a command: a wrong answer costs time, no more.
 */
#include "adapter.h"

#include <stdlib.h>

/* The part of the kernel's struct tcmu_mailbox that is read here (linux/target_core_user.h). */
struct adapter_mailbox {
	uint16_t version;
	uint16_t flags;
	uint32_t cmdr_off;
	uint32_t cmdr_size;
	uint32_t cmd_head;
	char own_cache_line[48];
	uint32_t cmd_tail;
};

_Static_assert(offsetof(struct adapter_mailbox, cmd_tail) == 64, "as the kernel has it");

enum {
	/* The first word of an entry: its length, a multiple of 8, and what it is. */
	ENTRY_OPERATION = 0x7,
	ENTRY_PADDING = 0,

	/*
	 * So many commands must have come alone before one is taken to be the rule. When several
	 * are kept under way, an entry is found alone again and again, by chance.
	 */
	ALONE_RULE = 16,
};

static uint32_t load(const uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

void adapter_ring_init(struct tcmu_device *dev, struct adapter_lun *lun)
{
	void *base = NULL;

	if (!tcmu_ext_disk_heeds_alone(lun->disk))
		return;
	free(tcmu_dev_get_memory_info(dev, &base, NULL, NULL));
	lun->ring.mailbox = base;
}

/* Whether exactly one command between tail and head has not been completed. */
static bool holds_one(const struct adapter_mailbox *mailbox, uint32_t head)
{
	uint32_t position = load(&mailbox->cmd_tail);
	uint32_t size = mailbox->cmdr_size;

	while (position != head && position < size) {
		const char *entry = (const char *)mailbox + mailbox->cmdr_off + position;
		uint32_t word = load((const uint32_t *)(const void *)entry);
		uint32_t bytes = word & ~(uint32_t)ENTRY_OPERATION;

		position = (uint32_t)(((uint64_t)position + bytes) % size);
		if ((word & ENTRY_OPERATION) != ENTRY_PADDING)
			return position == head;
		if (!bytes)
			break;
	}
	return false;
}

bool adapter_ring_is_alone(struct adapter_ring *ring)
{
	ring->head = load(&ring->mailbox->cmd_head);
	if (holds_one(ring->mailbox, ring->head))
		ring->came_alone++;
	else
		ring->came_alone = 0;
	return ring->came_alone > ALONE_RULE;
}

/* One that came meanwhile was kept waiting. */
void adapter_ring_executed(struct adapter_ring *ring)
{
	if (load(&ring->mailbox->cmd_head) != ring->head)
		ring->came_alone = 0;
}
