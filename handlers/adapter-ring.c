/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * A look at the ring that the kernel puts commands into. Whether a command is the only one there
 * steers which thread executes it, and tells whether its entry can be told how much data it
 * returned.
 */
#include "adapter.h"

#include <stdlib.h>

/*
 * The parts used here of the kernel's struct tcmu_mailbox and struct tcmu_cmd_entry. Their header,
 * linux/target_core_user.h, cannot be included beside sys/uio.h: both define struct iovec.
 */
struct adapter_mailbox {
	uint16_t version;
	uint16_t flags;
	uint32_t cmdr_off;
	uint32_t cmdr_size;
	uint32_t cmd_head;
	char own_cache_line[48];
	uint32_t cmd_tail;
};

struct adapter_entry {
	uint32_t length_and_operation; /* the length is a multiple of 8 */
	uint16_t cmd_id;
	uint8_t kflags;
	uint8_t uflags;
	uint32_t status_and_padding;
	uint32_t read_len;
};

_Static_assert(offsetof(struct adapter_mailbox, cmd_tail) == 64, "as the kernel has it");
_Static_assert(offsetof(struct adapter_entry, read_len) == 12, "as the kernel has it");

enum {
	MAILBOX_CAP_READ_LEN = 1 << 1,

	ENTRY_OPERATION = 0x7,
	ENTRY_PADDING = 0,
	ENTRY_COMMAND = 1,
	ENTRY_READ_LEN = 0x2,

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

	free(tcmu_dev_get_memory_info(dev, &base, NULL, NULL));
	lun->ring.mailbox = base;
	lun->ring.is_watched = base && tcmu_ext_disk_heeds_alone(lun->disk);
}

/* The entry of the only command between tail and head; NULL when there is none, or several. */
static struct adapter_entry *only_entry(struct adapter_mailbox *mailbox, uint32_t head)
{
	uint32_t position = load(&mailbox->cmd_tail);
	uint32_t size = mailbox->cmdr_size;

	while (position != head && position < size) {
		struct adapter_entry *entry =
			(void *)((char *)mailbox + mailbox->cmdr_off + position);
		uint32_t word = load(&entry->length_and_operation);
		uint32_t bytes = word & ~(uint32_t)ENTRY_OPERATION;

		position = (uint32_t)(((uint64_t)position + bytes) % size);
		if ((word & ENTRY_OPERATION) != ENTRY_PADDING)
			return position == head ? entry : NULL;
		if (!bytes)
			break;
	}
	return NULL;
}

bool adapter_ring_is_alone(struct adapter_ring *ring)
{
	ring->head = load(&ring->mailbox->cmd_head);
	if (only_entry(ring->mailbox, ring->head))
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

/*
 * libtcmu puts a status into the first entry that has none, whichever command's that was: only when
 * there is one command does its length get to its status.
 */
void adapter_ring_set_data_in_bytes(struct adapter_ring *ring, const struct tcmulib_cmd *lib_cmd,
				    uint32_t data_in_bytes)
{
	struct adapter_entry *entry;

	if (!ring->mailbox || !(ring->mailbox->flags & MAILBOX_CAP_READ_LEN))
		return;
	entry = only_entry(ring->mailbox, load(&ring->mailbox->cmd_head));
	if (!entry || (entry->length_and_operation & ENTRY_OPERATION) != ENTRY_COMMAND ||
	    entry->cmd_id != lib_cmd->cmd_id)
		return;
	entry->read_len = data_in_bytes;
	entry->uflags |= ENTRY_READ_LEN;
}
