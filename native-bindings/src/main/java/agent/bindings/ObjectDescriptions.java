package agent.bindings;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import agent.bindings.libbpf.Libbpf;
import agent.bindings.libbpf.bpf_btf_info;
import agent.bindings.libbpf.bpf_link_info;
import agent.bindings.libbpf.bpf_map_info;
import agent.bindings.libbpf.bpf_prog_info;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.HexFormat;

/** What the kernel says of maps, programs, links and BTF; not for hot paths. */
public final class ObjectDescriptions {
  /** Offsets of bpf_link_info's union, the same for xdp and tcx (Linux 6.6, linux/bpf.h). */
  private static final long LINK_IFINDEX_OFFSET = 16;

  private static final long LINK_ATTACH_TYPE_OFFSET = LINK_IFINDEX_OFFSET + Integer.BYTES;

  private ObjectDescriptions() {}

  /**
   * Describes a map.
   *
   * @throws BindingsException where the descriptor is none
   */
  public static MapDescription map(int fd) {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment found = bpf_map_info.allocate(arena);
      describe(arena, fd, found, "map");
      return new MapDescription(
          bpf_map_info.id(found),
          bpf_map_info.type(found),
          bpf_map_info.name(found).getString(0),
          bpf_map_info.key_size(found),
          bpf_map_info.value_size(found),
          bpf_map_info.max_entries(found),
          bpf_map_info.map_flags(found),
          bpf_map_info.btf_id(found),
          bpf_map_info.btf_key_type_id(found),
          bpf_map_info.btf_value_type_id(found));
    }
  }

  /**
   * Describes a program.
   *
   * @throws BindingsException where the descriptor is none
   */
  public static ProgramDescription program(int fd) {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment found = bpf_prog_info.allocate(arena);
      describe(arena, fd, found, "program");
      return new ProgramDescription(
          bpf_prog_info.id(found),
          bpf_prog_info.type(found),
          bpf_prog_info.name(found).getString(0),
          HexFormat.of().formatHex(bpf_prog_info.tag(found).toArray(JAVA_BYTE)),
          bpf_prog_info.xlated_prog_len(found) / Long.BYTES,
          bpf_prog_info.verified_insns(found),
          bpf_prog_info.jited_prog_len(found),
          bpf_prog_info.btf_id(found));
    }
  }

  /**
   * Describes a link.
   *
   * @throws BindingsException where the descriptor is none
   */
  public static LinkDescription link(int fd) {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment found = bpf_link_info.allocate(arena);
      describe(arena, fd, found, "link");
      final int type = bpf_link_info.type(found);
      final boolean tcx = type == LinkDescription.TYPE_TCX;
      return new LinkDescription(
          bpf_link_info.id(found),
          type,
          bpf_link_info.prog_id(found),
          tcx || type == LinkDescription.TYPE_XDP ? found.get(JAVA_INT, LINK_IFINDEX_OFFSET) : 0,
          tcx ? found.get(JAVA_INT, LINK_ATTACH_TYPE_OFFSET) : 0);
    }
  }

  /**
   * The bytes of BTF that the kernel holds.
   *
   * @param btfId from a map's or program's description
   * @throws BindingsException where there is none
   */
  public static byte[] btf(int btfId) {
    final int fd = BindingsException.check(Libbpf.bpf_btf_get_fd_by_id(btfId), "open BTF " + btfId);
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment found = bpf_btf_info.allocate(arena);
      describe(arena, fd, found, "BTF");
      final MemorySegment bytes = arena.allocate(bpf_btf_info.btf_size(found), 8);
      found.fill((byte) 0);
      bpf_btf_info.btf(found, bytes.address());
      bpf_btf_info.btf_size(found, (int) bytes.byteSize());
      describe(arena, fd, found, "BTF");
      return bytes.toArray(JAVA_BYTE);
    } finally {
      Descriptors.close(fd);
    }
  }

  /** A new descriptor of the map with that id, or -errno. */
  public static int openMap(int id) {
    return Libbpf.bpf_map_get_fd_by_id(id);
  }

  /** A new descriptor of the program with that id, or -errno. */
  public static int openProgram(int id) {
    return Libbpf.bpf_prog_get_fd_by_id(id);
  }

  /** A new descriptor of the link with that id, or -errno. */
  public static int openLink(int id) {
    return Libbpf.bpf_link_get_fd_by_id(id);
  }

  /** The ids of all maps of the machine. */
  public static int[] mapIds() {
    return ids(Libbpf::bpf_map_get_next_id);
  }

  /** The ids of all programs of the machine. */
  public static int[] programIds() {
    return ids(Libbpf::bpf_prog_get_next_id);
  }

  /** The ids of all links of the machine. */
  public static int[] linkIds() {
    return ids(Libbpf::bpf_link_get_next_id);
  }

  private interface NextId {
    int call(int id, MemorySegment next);
  }

  private static int[] ids(NextId nextId) {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment next = arena.allocate(JAVA_INT);
      int[] ids = new int[64];
      int count = 0;
      while (nextId.call(next.get(JAVA_INT, 0), next) == 0) {
        if (count == ids.length) {
          ids = Arrays.copyOf(ids, count * 2);
        }
        ids[count++] = next.get(JAVA_INT, 0);
      }
      return Arrays.copyOf(ids, count);
    }
  }

  private static void describe(Arena arena, int fd, MemorySegment found, String kind) {
    BindingsException.check(
        Libbpf.bpf_obj_get_info_by_fd(
            fd, found, arena.allocateFrom(JAVA_INT, (int) found.byteSize())),
        "describe " + kind + " of descriptor " + fd);
  }
}
