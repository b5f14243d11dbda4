/* Which users can be trusted with a file or folder that this process relies on? */
#ifndef RIDGE_RECORD_OWNER_H
#define RIDGE_RECORD_OWNER_H

#include <stdbool.h>
#include <sys/types.h>

/* This user, root, and those who could replace this program anyway: the owners of its file and of
 * the root folder. In a user namespace root has another number (that of the unmapped users), and so
 * have the system's files. */
bool owner_is_trusted(uid_t owner);

#endif
