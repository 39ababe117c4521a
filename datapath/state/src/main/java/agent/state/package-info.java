/**
 * Keeps the state of the agent on disk: the locked state directory with checksummed JSON files,
 * each of which is replaced by one rename, the commit point of a change.
 *
 * <p>One file for each resource, not a journal: every file can be read, checked and restored from a
 * backup on its own, damage is limited to one resource, nothing is replayed at the start, and the
 * files of releases from 0.1.0 on are the same. What a change needs besides its file follows from
 * it: the copy of the rules is removed before the commit and written after it, an endpoint's leases
 * are claimed again or released by the next start, and the kernel is compared with the files.
 * Changes that wait at a time are committed as a group, which shares syncs but is no transaction:
 * each has the file of its own, and fails alone. A change that fails before its rename, or whose
 * folder cannot be synced after it, has the previous content.
 *
 * <p>A file that cannot be read is not an empty one. It stays in its place until a person acts,
 * also over further starts: the kernel keeps the deny list and the policies that it enforces, an
 * endpoint is closed, no address is given out, and without the ranges of the node the agent does
 * not start, because others would take the addresses and gateways of all workloads away. What
 * replaces such a file keeps it as {@code *.corrupt-<n>}. The health module {@code state} names
 * each such file, and each folder that cannot be written until a write of the same length succeeds.
 */
package agent.state;
