/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "disk_model.h"

#include <string.h>

#include <tcmu-ext/scsi.h>

#include "cdb.h"
#include "test_failure.h"

enum { NDOB = 0x01, BYTCHK_MASK = 0x06, BYTCHK_BUFFER = 0x02, BYTCHK_ONE_BLOCK = 0x06 };

enum command_kind {
	KIND_OTHER,
	KIND_READ,
	KIND_WRITE, /* also WRITE AND VERIFY */
	KIND_WRITE_SAME,
	KIND_VERIFY,
	KIND_COMPARE_AND_WRITE,
	KIND_ORWRITE,
	KIND_UNMAP,
	KIND_ADDRESS_ONLY, /* PRE-FETCH, SYNCHRONIZE CACHE */
};

static const struct {
	uint8_t operation_code;
	enum command_kind kind;
} kinds[] = {
	{ TCMU_EXT_READ_6, KIND_READ },
	{ TCMU_EXT_READ_10, KIND_READ },
	{ TCMU_EXT_READ_12, KIND_READ },
	{ TCMU_EXT_READ_16, KIND_READ },
	{ TCMU_EXT_WRITE_6, KIND_WRITE },
	{ TCMU_EXT_WRITE_10, KIND_WRITE },
	{ TCMU_EXT_WRITE_12, KIND_WRITE },
	{ TCMU_EXT_WRITE_16, KIND_WRITE },
	{ TCMU_EXT_WRITE_AND_VERIFY_10, KIND_WRITE },
	{ TCMU_EXT_WRITE_AND_VERIFY_12, KIND_WRITE },
	{ TCMU_EXT_WRITE_AND_VERIFY_16, KIND_WRITE },
	{ TCMU_EXT_WRITE_SAME_10, KIND_WRITE_SAME },
	{ TCMU_EXT_WRITE_SAME_16, KIND_WRITE_SAME },
	{ TCMU_EXT_VERIFY_10, KIND_VERIFY },
	{ TCMU_EXT_VERIFY_12, KIND_VERIFY },
	{ TCMU_EXT_VERIFY_16, KIND_VERIFY },
	{ TCMU_EXT_COMPARE_AND_WRITE, KIND_COMPARE_AND_WRITE },
	{ TCMU_EXT_ORWRITE_16, KIND_ORWRITE },
	{ TCMU_EXT_UNMAP, KIND_UNMAP },
	{ TCMU_EXT_PRE_FETCH_10, KIND_ADDRESS_ONLY },
	{ TCMU_EXT_PRE_FETCH_16, KIND_ADDRESS_ONLY },
	{ TCMU_EXT_SYNCHRONIZE_CACHE_10, KIND_ADDRESS_ONLY },
	{ TCMU_EXT_SYNCHRONIZE_CACHE_16, KIND_ADDRESS_ONLY },
};

static enum command_kind kind_of(uint8_t operation_code)
{
	for (size_t i = 0; i < ARRAY_COUNT(kinds); i++)
		if (kinds[i].operation_code == operation_code)
			return kinds[i].kind;
	return KIND_OTHER;
}

bool model_reads(uint8_t operation_code)
{
	return kind_of(operation_code) == KIND_READ;
}

bool model_writes(uint8_t operation_code)
{
	switch (kind_of(operation_code)) {
	case KIND_WRITE:
	case KIND_WRITE_SAME:
	case KIND_COMPARE_AND_WRITE:
	case KIND_ORWRITE:
	case KIND_UNMAP:
		return true;
	default:
		return false;
	}
}

bool model_range_of(const uint8_t *cdb, struct model_range *range)
{
	enum command_kind kind = kind_of(cdb[0]);

	if (kind == KIND_OTHER || kind == KIND_UNMAP)
		return false;
	switch (cdb_make(cdb[0]).count) {
	case 6:
		range->lba = field_get(cdb + 1, 3) & 0x1fffff;
		range->blocks = cdb[4] ? cdb[4] : 256;
		break;
	case 10:
		range->lba = field_get(cdb + 2, 4);
		range->blocks = field_get(cdb + 7, 2);
		break;
	case 12:
		range->lba = field_get(cdb + 2, 4);
		range->blocks = field_get(cdb + 6, 4);
		break;
	default:
		range->lba = field_get(cdb + 2, 8);
		range->blocks = field_get(cdb + 10, 4);
		break;
	}
	if (kind == KIND_COMPARE_AND_WRITE)
		range->blocks = cdb[13];
	return true;
}

bool model_holds(const struct disk_model *model, struct model_range range)
{
	return range.lba <= model->blocks && range.blocks <= model->blocks - range.lba;
}

size_t model_buffer_bytes(const struct disk_model *model, const uint8_t *cdb)
{
	struct model_range range = { 0, 0 };
	size_t transfer;

	model_range_of(cdb, &range);
	transfer = (size_t)(range.blocks < 4096 ? range.blocks : 4096) * model->block_bytes;
	switch (kind_of(cdb[0])) {
	case KIND_READ:
	case KIND_WRITE:
	case KIND_ORWRITE:
		return transfer;
	case KIND_WRITE_SAME:
		return model->block_bytes;
	case KIND_VERIFY:
		return (cdb[1] & BYTCHK_MASK) == BYTCHK_ONE_BLOCK ? model->block_bytes : transfer;
	case KIND_COMPARE_AND_WRITE:
		return 2 * transfer;
	case KIND_UNMAP:
		return (size_t)field_get(cdb + 7, 2);
	default:
		return 0;
	}
}

static uint8_t *at(const struct disk_model *model, uint64_t lba)
{
	return model->medium + lba * model->block_bytes;
}

static void write_same(struct disk_model *model, const uint8_t *cdb, struct model_range range,
		       const uint8_t *data, size_t data_bytes)
{
	bool zeroes = cdb[0] == TCMU_EXT_WRITE_SAME_16 && (cdb[1] & NDOB);

	check(range.blocks, "WSNZ is 1, but zero blocks were accepted");
	check(zeroes || data_bytes >= model->block_bytes, "a block of %zu bytes", data_bytes);
	for (uint64_t i = 0; i < range.blocks; i++) {
		if (zeroes)
			memset(at(model, range.lba + i), 0, model->block_bytes);
		else
			memcpy(at(model, range.lba + i), data, model->block_bytes);
	}
}

static void unmap(struct disk_model *model, const uint8_t *cdb, const uint8_t *data,
		  size_t data_bytes)
{
	size_t list = (size_t)field_get(cdb + 7, 2), descriptors;

	if (!list)
		return;
	check(list >= 8 && data_bytes >= list, "a list of %zu bytes in %zu", list, data_bytes);
	descriptors = (size_t)field_get(data + 2, 2);
	if (descriptors > list - 8)
		descriptors = list - 8;
	for (size_t i = 0; i + 16 <= descriptors; i += 16) {
		struct model_range range = { field_get(data + 8 + i, 8),
					     field_get(data + 16 + i, 4) };

		check(model_holds(model, range), "a range off the medium was unmapped");
		if (model->unmapped_reads_zero)
			memset(at(model, range.lba), 0, range.blocks * model->block_bytes);
		else
			memset(model->anything + range.lba, 1, range.blocks);
	}
}

void model_execute(struct disk_model *model, const uint8_t *cdb, const uint8_t *data,
		   size_t data_bytes)
{
	enum command_kind kind = kind_of(cdb[0]);
	struct model_range range;
	size_t bytes;

	if (kind == KIND_UNMAP)
		unmap(model, cdb, data, data_bytes);
	if (!model_range_of(cdb, &range))
		return;
	check(model_holds(model, range), "operation %02x off the medium was good", cdb[0]);
	bytes = range.blocks * model->block_bytes;
	if (kind == KIND_WRITE_SAME) {
		write_same(model, cdb, range, data, data_bytes);
		return;
	}
	if (kind == KIND_WRITE || kind == KIND_ORWRITE || kind == KIND_COMPARE_AND_WRITE)
		check(data_bytes >= model_buffer_bytes(model, cdb),
		      "operation %02x had %zu bytes too few", cdb[0],
		      model_buffer_bytes(model, cdb) - data_bytes);
	if (kind == KIND_WRITE)
		memcpy(at(model, range.lba), data, bytes);
	if (kind == KIND_COMPARE_AND_WRITE)
		memcpy(at(model, range.lba), data + bytes, bytes);
	if (kind == KIND_ORWRITE)
		for (size_t i = 0; i < bytes; i++)
			at(model, range.lba)[i] |= data[i];
}

size_t model_compare(const struct disk_model *model, const uint8_t *cdb, const uint8_t *data,
		     size_t data_bytes)
{
	uint8_t byte_check = cdb[1] & BYTCHK_MASK;
	enum command_kind kind = kind_of(cdb[0]);
	bool one_block = kind == KIND_VERIFY && byte_check == BYTCHK_ONE_BLOCK;
	struct model_range range;
	size_t bytes, offset;

	if (kind != KIND_COMPARE_AND_WRITE && (kind != KIND_VERIFY || !byte_check))
		return SIZE_MAX;
	if (!model_range_of(cdb, &range) || !model_holds(model, range))
		return SIZE_MAX;
	bytes = range.blocks * model->block_bytes;
	if (data_bytes < (one_block && bytes ? model->block_bytes : bytes))
		return SIZE_MAX;
	for (offset = 0; offset < bytes; offset++)
		if (at(model, range.lba)[offset] !=
		    data[one_block ? offset % model->block_bytes : offset])
			break;
	return offset;
}
