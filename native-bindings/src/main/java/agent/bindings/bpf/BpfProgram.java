package agent.bindings.bpf;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import agent.bindings.BindingsException;
import agent.bindings.Descriptors;
import agent.bindings.libbpf.Libbpf;
import agent.bindings.libbpf.bpf_prog_info;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;

/**
 * A handle of a loaded program. The caller that opens a program by id or pin closes it. A program
 * from {@link BpfObject#program} belongs to that object and is closed with it. Links, filters and
 * pins keep the program loaded after that.
 */
public final class BpfProgram extends BpfHandle {
  private static final String KIND = "program";
  private static final List<String> TYPES = List.of("bpf-prog");

  private final String name;
  private final boolean isOwner;

  private BpfProgram(String name, int fd, Path pinOrNull, boolean isOwner) {
    super(KIND + " " + name, fd, pinOrNull);
    this.name = name;
    this.isOwner = isOwner;
  }

  /** Creates a handle whose descriptor the object closes. */
  static BpfProgram ofObject(String name, int fd) {
    return new BpfProgram(name, fd, null, false);
  }

  /**
   * Opens a loaded program.
   *
   * @param id the kernel's id of the program, see {@link ProgramDescription#id()}
   * @throws BindingsException ENOENT if no program has the id
   */
  public static BpfProgram openById(int id) {
    final int fd = Libbpf.bpf_prog_get_fd_by_id(id);
    BindingsException.check(fd, KIND + " of id " + id + ": open");
    return opened(fd, null);
  }

  /**
   * Opens a pinned program.
   *
   * @return empty if the path does not exist
   * @throws BindingsException if another kind of object is pinned there, or if it cannot be opened
   */
  public static Optional<BpfProgram> openPinned(Path path) {
    final int fd = openPinned(path, KIND, TYPES);
    return fd < 0 ? Optional.empty() : Optional.of(opened(fd, path));
  }

  private static BpfProgram opened(int fd, Path pinOrNull) {
    try {
      return new BpfProgram(describe(fd, KIND).name(), fd, pinOrNull, true);
    } catch (BindingsException failure) {
      Descriptors.close(fd);
      throw failure;
    }
  }

  /**
   * Returns the name in the object; for an opened program the kernel's name of at most 15
   * characters.
   */
  public String name() {
    return name;
  }

  /**
   * Returns the kernel's description of the program.
   *
   * @throws BindingsException if the kernel refuses
   */
  public ProgramDescription info() {
    return describe(fd(), toString());
  }

  /**
   * Closes the descriptor; pins and attachments remain. A second call has no effect, nor does a
   * call for a program of a {@link BpfObject}, which closes it.
   */
  @Override
  public void close() {
    if (isOwner) {
      super.close();
    }
  }

  private static ProgramDescription describe(int fd, String subject) {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment found = bpf_prog_info.allocate(arena);
      describe(arena, fd, found, subject);
      return new ProgramDescription(
          bpf_prog_info.id(found),
          bpf_prog_info.type(found),
          bpf_prog_info.name(found).getString(0),
          HexFormat.of().formatHex(bpf_prog_info.tag(found).toArray(JAVA_BYTE)),
          bpf_prog_info.xlated_prog_len(found) / Long.BYTES,
          bpf_prog_info.verified_insns(found));
    }
  }

  /**
   * The kernel's description of a loaded program.
   *
   * @param id the kernel's number for it
   * @param type a number of {@code enum bpf_prog_type} (linux/bpf.h)
   * @param name at most 15 characters
   * @param tag hash of its instructions, 16 hexadecimal digits
   * @param instructions number of instructions after the verifier's rewriting
   * @param verifiedInstructions number of instructions that the verifier processed
   */
  public record ProgramDescription(
      int id, int type, String name, String tag, int instructions, int verifiedInstructions) {}
}
