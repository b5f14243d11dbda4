/* Which users are trusted to own a file or folder that this process relies on? */
#ifndef RIDGE_RECORD_OWNER_H
#define RIDGE_RECORD_OWNER_H

#include <stdbool.h>
#include <sys/types.h>

/* This user, root, and users who could replace this program anyway: the owners of its file and of
 * /. In a user namespace root and the owner of system files have another uid, that of unmapped
 * users. */
bool owner_is_trusted(uid_t owner);

#endif
