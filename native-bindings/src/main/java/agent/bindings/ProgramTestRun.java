package agent.bindings;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import agent.bindings.libbpf.Libbpf;
import agent.bindings.libbpf.bpf_test_run_opts;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * Runs a loaded program without attaching it (BPF_PROG_TEST_RUN). Buffers are made once; a run
 * allocates nothing and returns 0 or -errno. For one thread at a time.
 */
public final class ProgramTestRun implements AutoCloseable {
  /** What the kernel sets aside around an XDP packet must fit into a page with it. */
  private static final int OUTPUT_ROOM = 256;

  private static final int SK_BUFF_BYTES = 192;
  private static final int SK_BUFF_MARK_OFFSET = 8;
  private static final int SK_BUFF_IFINDEX_OFFSET = 40;

  private final Arena arena = Arena.ofShared();
  private final MemorySegment options = bpf_test_run_opts.allocate(arena);
  private final MemorySegment skBuff = arena.allocate(SK_BUFF_BYTES, 8);
  private final MemorySegment input;
  private final MemorySegment output;

  /**
   * Buffers for packets up to a size.
   *
   * @param capacityBytes of a packet, at least 14 for the kernel to take it
   */
  public ProgramTestRun(int capacityBytes) {
    input = arena.allocate(capacityBytes, 8);
    output = arena.allocate((long) capacityBytes + OUTPUT_ROOM, 8);
  }

  /** Where the packet is written before a run. */
  public MemorySegment input() {
    return input;
  }

  /** Copies a packet to {@link #input()}. */
  public void input(byte[] packet) {
    MemorySegment.copy(packet, 0, input, JAVA_BYTE, 0, packet.length);
  }

  /**
   * Runs a tc or XDP program on the packet in {@link #input()}.
   *
   * @param length of the packet
   * @param ifindex of an interface of this network namespace for a tc program's context; 0: none is
   *     given (and for XDP)
   * @param repeat how often, at least 1; the packet is not restored between them
   * @return 0 or -errno
   */
  public int run(int programFd, int length, int ifindex, int repeat) {
    prepare(length, repeat);
    if (ifindex != 0) {
      skBuff.set(JAVA_INT, SK_BUFF_IFINDEX_OFFSET, ifindex);
      bpf_test_run_opts.ctx_in(options, skBuff);
      bpf_test_run_opts.ctx_size_in(options, SK_BUFF_BYTES);
      bpf_test_run_opts.ctx_out(options, skBuff);
      bpf_test_run_opts.ctx_size_out(options, SK_BUFF_BYTES);
    }
    return Libbpf.bpf_prog_test_run_opts(programFd, options);
  }

  /**
   * Runs a syscall program.
   *
   * @param context what the program gets and writes; native memory
   * @return 0 or -errno
   */
  public int runSyscall(int programFd, MemorySegment context) {
    options.fill((byte) 0);
    bpf_test_run_opts.sz(options, bpf_test_run_opts.sizeof());
    bpf_test_run_opts.ctx_in(options, context);
    bpf_test_run_opts.ctx_size_in(options, (int) context.byteSize());
    return Libbpf.bpf_prog_test_run_opts(programFd, options);
  }

  /** What the program returned at the last repeat. */
  public int returnValue() {
    return bpf_test_run_opts.retval(options);
  }

  /** Average time of one repeat, in ns. */
  public int durationNs() {
    return bpf_test_run_opts.duration(options);
  }

  /** The packet after the last repeat: {@link #outputLength()} bytes. */
  public MemorySegment output() {
    return output;
  }

  /** Length of the packet after the last repeat. */
  public int outputLength() {
    return bpf_test_run_opts.data_size_out(options);
  }

  /** The packet mark after the last run that had an interface. */
  public int mark() {
    return skBuff.get(JAVA_INT, SK_BUFF_MARK_OFFSET);
  }

  @Override
  public void close() {
    arena.close();
  }

  private void prepare(int length, int repeat) {
    options.fill((byte) 0);
    skBuff.fill((byte) 0);
    bpf_test_run_opts.sz(options, bpf_test_run_opts.sizeof());
    bpf_test_run_opts.data_in(options, input);
    bpf_test_run_opts.data_size_in(options, length);
    bpf_test_run_opts.data_out(options, output);
    bpf_test_run_opts.data_size_out(options, (int) output.byteSize());
    bpf_test_run_opts.repeat(options, repeat);
  }
}
