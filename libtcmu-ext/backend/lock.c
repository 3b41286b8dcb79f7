/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#include "backend/lock.h"

#include <errno.h>
#include <fcntl.h>

#include "plumbing/log.h"

static struct flock whole_file(const struct storage *storage)
{
	return (struct flock){
		.l_type = storage->read_only ? F_RDLCK : F_WRLCK,
		.l_whence = SEEK_SET,
	};
}

static int report_holder(const struct storage *storage)
{
	struct flock holder = whole_file(storage);

	/* Of locks like our own the kernel does not say who holds them. */
	if (!fcntl(storage->fd, F_OFD_GETLK, &holder) && holder.l_type != F_UNLCK &&
	    holder.l_pid > 0)
		log_message(
			&storage->log, TCMU_EXT_LOG_ERROR,
			"%s is in use: process %d has locked it; stop that process, or give this "
			"LUN a file of its own",
			storage->name, (int)holder.l_pid);
	else if (storage->succeeds)
		log_message(&storage->log, TCMU_EXT_LOG_ERROR, "%s is still in use%s",
			    storage->name, PREDECESSOR_ADVICE);
	else
		log_message(&storage->log, TCMU_EXT_LOG_ERROR,
			    "%s is in use: another LUN or program has locked it (\"lsof %s\" shows "
			    "which); stop using it there, or give this LUN a file of its own",
			    storage->name, storage->shell_name);
	return -EBUSY;
}

int lock_file(const struct storage *storage)
{
	struct flock wanted = whole_file(storage);
	unsigned int waits = 0;
	bool held;
	int error;

	do {
		if (!fcntl(storage->fd, F_OFD_SETLK, &wanted))
			return 0;
		error = -errno;
		held = error == -EAGAIN || error == -EACCES;
	} while (held && storage_wait_for_predecessor(storage, &waits));
	if (held)
		return report_holder(storage);
	errno = -error;
	log_message(
		&storage->log, TCMU_EXT_LOG_ERROR,
		"%s cannot be locked: %m; if its file system has no locks, add ;lock=no and make "
		"sure that nothing else uses the file",
		storage->name);
	return error;
}
