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
	ENTRY_COMMAND = 1,
	ENTRY_READ_LEN = 0x2,

	/*
	 * So many commands must have come alone before one is taken to be the rule. When several
	 * are kept under way, an entry is found alone again and again, by chance.
	 */
	ALONE_RULE = 16,

	/* Commands that libtcmu has passed over: with more, none is taken to be the only one. */
	PASSED_OVER_MAXIMUM = 32,
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

/* The entry of the next command before head, from `*position` on, which is moved behind it. */
static struct adapter_entry *next_command(struct adapter_mailbox *mailbox, uint32_t *position,
					  uint32_t head)
{
	uint32_t size = mailbox->cmdr_size;

	while (*position != head && *position < size) {
		struct adapter_entry *entry =
			(void *)((char *)mailbox + mailbox->cmdr_off + *position);
		uint32_t word = load(&entry->length_and_operation);
		uint32_t bytes = word & ~(uint32_t)ENTRY_OPERATION;

		if (!bytes)
			break;
		*position = (uint32_t)(((uint64_t)*position + bytes) % size);
		if ((word & ENTRY_OPERATION) == ENTRY_COMMAND)
			return entry;
	}
	return NULL;
}

/*
 * The entry that the present command's status will go to, if it is the only command there is; else
 * NULL. That is the first one: libtcmu puts a status into the first entry that has none, whichever
 * command's that was. It is the command's own unless libtcmu has passed over others before, as it
 * does when it does not know the length of a CDB (operation codes 60h to 7Eh and C0h to FFh): it
 * never completes them, so that from then on there are as many entries too many before each
 * command's. They are told from commands under way by these being none.
 */
static struct adapter_entry *sole_entry(const struct adapter_ring *ring, uint32_t head,
					uint16_t cmd_id)
{
	uint32_t position = load(&ring->mailbox->cmd_tail);
	struct adapter_entry *first = next_command(ring->mailbox, &position, head);
	struct adapter_entry *last = first;

	if (first && position != head && atomic_load(&ring->under_way))
		return NULL;
	for (int i = 0; i < PASSED_OVER_MAXIMUM && last && position != head; i++)
		last = next_command(ring->mailbox, &position, head);
	return last && position == head && last->cmd_id == cmd_id ? first : NULL;
}

bool adapter_ring_is_alone(struct adapter_ring *ring, const struct tcmulib_cmd *lib_cmd)
{
	ring->head = load(&ring->mailbox->cmd_head);
	if (sole_entry(ring, ring->head, lib_cmd->cmd_id))
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

void adapter_ring_set_data_in_bytes(struct adapter_ring *ring, const struct tcmulib_cmd *lib_cmd,
				    uint32_t data_in_bytes)
{
	struct adapter_entry *entry;

	if (!ring->mailbox || !(ring->mailbox->flags & MAILBOX_CAP_READ_LEN))
		return;
	entry = sole_entry(ring, load(&ring->mailbox->cmd_head), lib_cmd->cmd_id);
	if (!entry)
		return;
	entry->read_len = data_in_bytes;
	entry->uflags |= ENTRY_READ_LEN;
}
