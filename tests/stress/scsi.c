/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "scsi.h"

#include <err.h>
#include <unistd.h>

#include "transport.h"

enum {
	PAUSE_MICROSECONDS = 1000,
	REMOVAL_PAUSES = 30000,

	STATUS_GOOD = 0x00,
	STATUS_CHECK_CONDITION = 0x02,
	STATUS_BUSY = 0x08,
	STATUS_TASK_SET_FULL = 0x28,
	KEY_UNIT_ATTENTION = 0x06,
	KEY_MISCOMPARE = 0x0e,
	HOST_NO_CONNECT = 0x01,
	HOST_ERROR = 0x07,
	HOST_TRANSPORT_FAILFAST = 0x0f,
};

static void put(uint8_t *bytes, size_t count, uint64_t value)
{
	for (size_t i = 0; i < count; i++)
		bytes[i] = (uint8_t)(value >> 8 * (count - 1 - i));
}

static uint64_t get(const uint8_t *bytes, size_t count)
{
	uint64_t value = 0;

	for (size_t i = 0; i < count; i++)
		value = value << 8 | bytes[i];
	return value;
}

static unsigned int sense_key(const uint8_t *sense)
{
	return ((sense[0] & 0x7f) >= 0x72 ? sense[1] : sense[2]) & 0x0f;
}

enum answer {
	ANSWER_GOOD,
	ANSWER_MISCOMPARE,
	ANSWER_AGAIN,
	ANSWER_GONE,
	ANSWER_HOST_ERROR,
	ANSWER_WRONG,
};

static enum answer answer_of(const struct transport_command *command)
{
	if (command->host_status == HOST_NO_CONNECT ||
	    command->host_status == HOST_TRANSPORT_FAILFAST)
		return ANSWER_GONE;
	if (command->host_status == HOST_ERROR)
		return ANSWER_HOST_ERROR;
	if (command->host_status)
		return ANSWER_WRONG;
	switch (command->status) {
	case STATUS_GOOD:
		return ANSWER_GOOD;
	case STATUS_BUSY:
	case STATUS_TASK_SET_FULL:
		return ANSWER_AGAIN;
	case STATUS_CHECK_CONDITION:
		if (sense_key(command->sense) == KEY_UNIT_ATTENTION)
			return ANSWER_AGAIN;
		if (sense_key(command->sense) == KEY_MISCOMPARE)
			return ANSWER_MISCOMPARE;
		break;
	default:
		break;
	}
	return ANSWER_WRONG;
}

static _Noreturn void report(const struct transport_command *command)
{
	const uint8_t *sense = command->sense;

	errx(1, "operation %02x at block %llu: status %02x, host status %02x, sense %x/%02x/%02x",
	     command->cdb[0], (unsigned long long)get(command->cdb + 2, 8), command->status,
	     command->host_status, sense_key(sense), sense[12], sense[13]);
}

/* Linux ends the commands of a disk that it is about to remove with the host's error, too. */
static bool is_being_removed(int handle)
{
	static const uint8_t test_unit_ready[6];

	for (unsigned int i = 0; i < REMOVAL_PAUSES; i++) {
		struct transport_command command = { .cdb = test_unit_ready,
						     .cdb_bytes = sizeof(test_unit_ready) };
		enum answer answer;

		if (!transport_send(handle, &command))
			return true;
		answer = answer_of(&command);
		if (answer != ANSWER_HOST_ERROR)
			return answer == ANSWER_GONE;
		usleep(PAUSE_MICROSECONDS);
	}
	return false;
}

enum scsi_outcome scsi_send(int handle, const uint8_t *cdb, size_t cdb_bytes, bool to_disk,
			    void *data, size_t data_bytes)
{
	for (;;) {
		struct transport_command command = {
			.cdb = cdb,
			.cdb_bytes = cdb_bytes,
			.to_disk = to_disk,
			.data = data,
			.data_bytes = data_bytes,
		};

		if (!transport_send(handle, &command))
			return SCSI_GONE;
		switch (answer_of(&command)) {
		case ANSWER_GOOD:
			return SCSI_GOOD;
		case ANSWER_MISCOMPARE:
			return SCSI_MISCOMPARE;
		case ANSWER_GONE:
			return SCSI_GONE;
		case ANSWER_AGAIN:
			usleep(PAUSE_MICROSECONDS);
			break;
		case ANSWER_HOST_ERROR:
			if (is_being_removed(handle))
				return SCSI_GONE;
			report(&command);
		case ANSWER_WRONG:
			report(&command);
		}
	}
}

/* Those with a 64-bit address at byte 2 and a 32-bit length at byte 10. */
static enum scsi_outcome send_16(int handle, uint8_t operation_code, uint8_t flags, uint64_t lba,
				 uint32_t blocks, bool to_disk, const void *data, size_t bytes)
{
	uint8_t cdb[16] = { operation_code, flags };

	put(cdb + 2, 8, lba);
	put(cdb + 10, 4, blocks);
	return scsi_send(handle, cdb, sizeof(cdb), to_disk, (void *)(uintptr_t)data, bytes);
}

enum scsi_outcome scsi_read(int handle, uint64_t lba, uint32_t blocks, void *data, size_t bytes)
{
	return send_16(handle, 0x88, 0, lba, blocks, false, data, bytes);
}

enum scsi_outcome scsi_write(int handle, uint64_t lba, uint32_t blocks, const void *data,
			     size_t bytes, bool force_unit_access)
{
	return send_16(handle, 0x8a, force_unit_access ? 0x08 : 0, lba, blocks, true, data, bytes);
}

enum scsi_outcome scsi_write_and_verify(int handle, uint64_t lba, uint32_t blocks, const void *data,
					size_t bytes)
{
	return send_16(handle, 0x8e, 0x02, lba, blocks, true, data, bytes);
}

enum scsi_outcome scsi_verify(int handle, uint64_t lba, uint32_t blocks, const void *data,
			      size_t bytes)
{
	return send_16(handle, 0x8f, 0x02, lba, blocks, true, data, bytes);
}

enum scsi_outcome scsi_orwrite(int handle, uint64_t lba, uint32_t blocks, const void *data,
			       size_t bytes)
{
	return send_16(handle, 0x8b, 0, lba, blocks, true, data, bytes);
}

enum scsi_outcome scsi_compare_and_write(int handle, uint64_t lba, uint8_t blocks, const void *data,
					 size_t bytes)
{
	return send_16(handle, 0x89, 0, lba, blocks, true, data, bytes);
}

enum scsi_outcome scsi_write_same(int handle, uint64_t lba, uint32_t blocks, const void *block,
				  size_t block_bytes)
{
	return send_16(handle, 0x93, 0, lba, blocks, true, block, block_bytes);
}

enum scsi_outcome scsi_unmap(int handle, uint64_t lba, uint32_t blocks)
{
	uint8_t cdb[10] = { 0x42 };
	uint8_t list[24] = { 0 };

	put(cdb + 7, 2, sizeof(list));
	put(list, 2, sizeof(list) - 2);
	put(list + 2, 2, 16);
	put(list + 8, 8, lba);
	put(list + 16, 4, blocks);
	return scsi_send(handle, cdb, sizeof(cdb), true, list, sizeof(list));
}

enum scsi_outcome scsi_synchronize_cache(int handle)
{
	return send_16(handle, 0x91, 0, 0, 0, false, NULL, 0);
}

struct scsi_capacity scsi_read_capacity(int handle)
{
	uint8_t cdb[16] = { 0x9e, 0x10 };
	uint8_t data[32] = { 0 };

	put(cdb + 10, 4, sizeof(data));
	if (scsi_send(handle, cdb, sizeof(cdb), false, data, sizeof(data)) != SCSI_GOOD)
		errx(1, "READ CAPACITY fails");
	return (struct scsi_capacity){
		.blocks = get(data, 8) + 1,
		.block_bytes = (uint32_t)get(data + 8, 4),
		.unmaps_to_zero = (data[14] & 0xc0) == 0xc0,
	};
}
