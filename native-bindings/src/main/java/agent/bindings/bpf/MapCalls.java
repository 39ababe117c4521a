package agent.bindings.bpf;

import agent.bindings.Descriptors;
import agent.bindings.libbpf.Libbpf;
import agent.bindings.libbpf.bpf_map_create_opts;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * Operations on kernel maps by descriptor. Each returns 0 (or a descriptor) or -errno and throws no
 * exception; all but {@code create} allocate nothing. Segments are native memory that the caller
 * owns. Any thread may call them; the kernel orders concurrent calls.
 */
public final class MapCalls {
  private MapCalls() {}

  /** Copies the value of the key into value; returns -ENOENT if the key does not exist. */
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

  /** Deletes one entry; returns -ENOENT if the key does not exist. */
  public static int delete(int fd, MemorySegment key) {
    return Libbpf.bpf_map_delete_elem(fd, key);
  }

  /**
   * Writes the following key into next.
   *
   * @param keyOrNull the preceding key, or {@link MemorySegment#NULL} to get the first one
   * @return 0, or -ENOENT after the last key
   */
  public static int nextKey(int fd, MemorySegment keyOrNull, MemorySegment next) {
    return Libbpf.bpf_map_get_next_key(fd, keyOrNull, next);
  }

  /**
   * Reads many entries.
   *
   * @param inOrNull the cursor that the previous call wrote, or {@link MemorySegment#NULL} to begin
   * @param out receives the cursor; as large as the key, at least 4 bytes; may be inOrNull
   * @param keys receives up to count keys
   * @param values receives up to count values; in a per-CPU map each is rounded up to 8 bytes and
   *     repeated for each possible CPU
   * @param count input: capacity in entries; output: entries read
   * @return 0 if more entries may follow; -ENOENT with count set after the last entry; -ENOSPC if
   *     count is smaller than the chain of a hash bucket
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
   * @param count input: entries; output: entries written
   */
  public static int updateBatch(
      int fd, MemorySegment keys, MemorySegment values, MemorySegment count) {
    return Libbpf.bpf_map_update_batch(fd, keys, values, count, MemorySegment.NULL);
  }

  /**
   * Deletes many entries, in order, until one fails.
   *
   * @param count input: entries; output: entries deleted
   */
  public static int deleteBatch(int fd, MemorySegment keys, MemorySegment count) {
    return Libbpf.bpf_map_delete_batch(fd, keys, count, MemorySegment.NULL);
  }

  /**
   * Creates a map; not for hot paths. For a map of maps it creates an inner map, whose shape the
   * kernel copies, and closes it again.
   *
   * @return the descriptor, or -errno
   */
  public static int create(MapSpec spec) {
    if (spec.inner() == null) {
      return create(spec, 0);
    }
    final int inner = create(spec.inner());
    if (inner < 0) {
      return inner;
    }
    try {
      return create(spec, inner);
    } finally {
      Descriptors.close(inner);
    }
  }

  private static int create(MapSpec spec, int innerMapFd) {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment options = bpf_map_create_opts.allocate(arena);
      bpf_map_create_opts.sz(options, bpf_map_create_opts.sizeof());
      bpf_map_create_opts.map_flags(options, spec.flags());
      bpf_map_create_opts.inner_map_fd(options, innerMapFd);
      return Libbpf.bpf_map_create(
          spec.type(),
          arena.allocateFrom(spec.name().substring(0, Math.min(15, spec.name().length()))),
          spec.keySize(),
          spec.valueSize(),
          spec.maxEntries(),
          options);
    }
  }

  /**
   * Opens an existing map; not for hot paths.
   *
   * @param id the kernel's id of the map, see {@link MapDescription#id()}
   * @return a descriptor, or -errno (-ENOENT if no map has the id)
   */
  public static int openById(int id) {
    return Libbpf.bpf_map_get_fd_by_id(id);
  }
}
