package agent.bindings;

import agent.bindings.libbpf.Libbpf;
import agent.bindings.libbpf.bpf_map_create_opts;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * Operations on kernel maps by descriptor. Each returns 0 (or the descriptor) or -errno, allocates
 * nothing and throws nothing; segments are native memory that the caller keeps. Any thread may call
 * them; the kernel orders concurrent calls.
 */
public final class MapCalls {
  private MapCalls() {}

  /** Copies the value at key into value; -ENOENT where there is none. */
  public static int lookup(int fd, MemorySegment key, MemorySegment value) {
    return Libbpf.bpf_map_lookup_elem(fd, key, value);
  }

  /**
   * Writes one entry.
   *
   * @param flags {@link MapFlag#ANY}, {@link MapFlag#NO_EXIST} or {@link MapFlag#EXIST}
   */
  public static int update(int fd, MemorySegment key, MemorySegment value, long flags) {
    return Libbpf.bpf_map_update_elem(fd, key, value, flags);
  }

  /** Removes one entry; -ENOENT where there is none. */
  public static int delete(int fd, MemorySegment key) {
    return Libbpf.bpf_map_delete_elem(fd, key);
  }

  /**
   * Writes into next the key that follows.
   *
   * @param keyOrNull the key before, or {@link MemorySegment#NULL} for the first one
   * @return 0, or -ENOENT after the last key
   */
  public static int nextKey(int fd, MemorySegment keyOrNull, MemorySegment next) {
    return Libbpf.bpf_map_get_next_key(fd, keyOrNull, next);
  }

  /**
   * Reads many entries.
   *
   * @param inOrNull the cursor that the call before wrote, or {@link MemorySegment#NULL} to begin
   * @param out where the cursor goes: as large as the key, at least 4 bytes; may be inOrNull
   * @param keys room for as many keys as count says
   * @param values room for as many values as count says, each rounded up to 8 bytes and given for
   *     each possible CPU where the map is per-CPU
   * @param count in: capacity in entries; out: entries read
   * @return 0 where more may follow; -ENOENT with count set after the last entry; -ENOSPC where
   *     count is smaller than a hash bucket's chain
   */
  public static int lookupBatch(
      int fd,
      MemorySegment inOrNull,
      MemorySegment out,
      MemorySegment keys,
      MemorySegment values,
      MemorySegment count) {
    return Libbpf.bpf_map_lookup_batch(fd, inOrNull, out, keys, values, count, MemorySegment.NULL);
  }

  /**
   * Writes many entries, in order, until one fails.
   *
   * @param count in: entries; out: entries written
   */
  public static int updateBatch(
      int fd, MemorySegment keys, MemorySegment values, MemorySegment count) {
    return Libbpf.bpf_map_update_batch(fd, keys, values, count, MemorySegment.NULL);
  }

  /**
   * Removes many entries, in order, until one fails.
   *
   * @param count in: entries; out: entries removed
   */
  public static int deleteBatch(int fd, MemorySegment keys, MemorySegment count) {
    return Libbpf.bpf_map_delete_batch(fd, keys, count, MemorySegment.NULL);
  }

  /**
   * Makes a map; not a hot call.
   *
   * @return its descriptor, or -errno
   */
  public static int create(MapSpec spec) {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment options = bpf_map_create_opts.allocate(arena);
      bpf_map_create_opts.sz(options, bpf_map_create_opts.sizeof());
      bpf_map_create_opts.map_flags(options, spec.flags());
      bpf_map_create_opts.inner_map_fd(options, spec.innerMapFd());
      return Libbpf.bpf_map_create(
          spec.type(),
          arena.allocateFrom(spec.name().substring(0, Math.min(15, spec.name().length()))),
          spec.keySize(),
          spec.valueSize(),
          spec.maxEntries(),
          options);
    }
  }

  /** Forbids further writes by system calls; programs still write. */
  public static int freeze(int fd) {
    return Libbpf.bpf_map_freeze(fd);
  }
}
