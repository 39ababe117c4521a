package agent.bindings.bpf;

import agent.bindings.BindingsException;
import agent.bindings.Descriptors;
import agent.bindings.Errno;
import agent.bindings.LibC;
import agent.bindings.libbpf.Libbpf;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * One walk over objects of the kernel: an iterator program runs for each of them, and what it
 * writes is read here. One that walks the sockets of a network namespace walks those of the
 * namespace in which the thread is that opens it.
 */
public final class BpfIterator implements AutoCloseable {
  private final int fd;
  private final String subject;

  private BpfIterator(int fd, String subject) {
    this.fd = fd;
    this.subject = subject;
  }

  /**
   * Begins a walk.
   *
   * @param program an iterator program; it stays loaded until this is closed
   * @throws BindingsException if the kernel refuses
   */
  public static BpfIterator open(BpfProgram program) {
    final String subject = "iterator " + program.name();
    try (BpfLink link = BpfLink.createIterator(program)) {
      return new BpfIterator(
          BindingsException.check(Libbpf.bpf_iter_create(link.fd()), subject + ": create"),
          subject);
    }
  }

  /**
   * Goes on with the walk until the program has written something, or the kernel pauses.
   *
   * @param buffer receives whole records, if its size is a multiple of theirs
   * @return number of bytes, 0 at the end of the walk; {@code -EAGAIN} where there is nothing yet
   * @throws BindingsException if the walk fails
   */
  public int read(MemorySegment buffer) {
    try (Arena arena = Arena.ofConfined()) {
      final int result = LibC.read(arena.allocate(LibC.CALL_STATE), fd, buffer);
      return result == -Errno.EAGAIN ? result : BindingsException.check(result, subject + ": read");
    }
  }

  @Override
  public void close() {
    Descriptors.close(fd);
  }
}
