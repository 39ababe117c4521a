package agent.bindings.bpf;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import agent.bindings.libbpf.Libbpf;
import agent.bindings.libbpf.bpf_test_run_opts;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * Runs a loaded program without attaching it (BPF_PROG_TEST_RUN). Buffers are allocated once; a run
 * allocates nothing and returns 0 or -errno. For one thread at a time.
 */
public final class ProgramTestRun implements AutoCloseable {
  /**
   * Output space beyond the packet; packet, headroom and tailroom of an XDP run must fit into one
   * page.
   */
  private static final int OUTPUT_ROOM = 256;

  private static final int SK_BUFF_BYTES = 192;
  private static final int SK_BUFF_INGRESS_IFINDEX_OFFSET = 36;
  private static final int SK_BUFF_IFINDEX_OFFSET = 40;
  private static final int SK_BUFF_GSO_SIZE_OFFSET = 176;

  private static final int XDP_BYTES = 24;
  private static final int XDP_DATA_END_OFFSET = 4;
  private static final int XDP_INGRESS_IFINDEX_OFFSET = 12;

  private final Arena arena = Arena.ofShared();
  private final MemorySegment options = bpf_test_run_opts.allocate(arena);
  private final MemorySegment skBuff = arena.allocate(SK_BUFF_BYTES, 8);
  private final MemorySegment xdpContext = arena.allocate(XDP_BYTES, 8);
  private final MemorySegment input;
  private final MemorySegment output;
  private int receivingIfindex;
  private int segmentBytes;

  /**
   * Allocates buffers for packets up to a size.
   *
   * @param capacityBytes maximum length of a packet; the kernel requires at least 14
   */
  public ProgramTestRun(int capacityBytes) {
    input = arena.allocate(capacityBytes, 8);
    output = arena.allocate((long) capacityBytes + OUTPUT_ROOM, 8);
  }

  /** Returns the buffer into which the caller writes the packet before a run. */
  public MemorySegment input() {
    return input;
  }

  /** Copies a packet to {@link #input()}. */
  public void input(byte[] packet) {
    MemorySegment.copy(packet, 0, input, JAVA_BYTE, 0, packet.length);
  }

  /**
   * Sets the interface by which the node received the packets of the following runs of tc programs.
   *
   * @param ifindex 0 for packets that the node sends itself, which is the initial value
   */
  public void receivedBy(int ifindex) {
    receivingIfindex = ifindex;
  }

  /**
   * Sets into how long segments a device splits the packets of the following runs of tc programs.
   *
   * @param bytes 0 for packets that are not split, which is the initial value
   */
  public void splitInto(int bytes) {
    segmentBytes = bytes;
  }

  /**
   * Runs a tc or XDP program on the packet in {@link #input()}.
   *
   * @param length of the packet, in bytes
   * @param ifindex interface of this network namespace for a tc program's context; 0 for none and
   *     for XDP
   * @param repeat number of repeats, at least 1; the packet is not restored between repeats
   * @return 0 or -errno
   * @throws IllegalStateException if the program is closed
   */
  public int run(BpfProgram program, int length, int ifindex, int repeat) {
    prepare(length, repeat);
    if (ifindex != 0 || receivingIfindex != 0 || segmentBytes != 0) {
      skBuff.set(JAVA_INT, SK_BUFF_INGRESS_IFINDEX_OFFSET, receivingIfindex);
      skBuff.set(JAVA_INT, SK_BUFF_IFINDEX_OFFSET, ifindex);
      skBuff.set(JAVA_INT, SK_BUFF_GSO_SIZE_OFFSET, segmentBytes);
      bpf_test_run_opts.ctx_in(options, skBuff);
      bpf_test_run_opts.ctx_size_in(options, SK_BUFF_BYTES);
      bpf_test_run_opts.ctx_out(options, skBuff);
      bpf_test_run_opts.ctx_size_out(options, SK_BUFF_BYTES);
    }
    return Libbpf.bpf_prog_test_run_opts(program.fd(), options);
  }

  /**
   * Runs an XDP program on the packet in {@link #input()} as one that an interface has received.
   *
   * @param length of the packet, in bytes
   * @param ifindex interface of this network namespace
   * @param repeat number of repeats, at least 1; the packet is not restored between repeats
   * @return 0 or -errno
   * @throws IllegalStateException if the program is closed
   */
  public int runXdp(BpfProgram program, int length, int ifindex, int repeat) {
    prepare(length, repeat);
    xdpContext.fill((byte) 0);
    xdpContext.set(JAVA_INT, XDP_DATA_END_OFFSET, length);
    xdpContext.set(JAVA_INT, XDP_INGRESS_IFINDEX_OFFSET, ifindex);
    bpf_test_run_opts.ctx_in(options, xdpContext);
    bpf_test_run_opts.ctx_size_in(options, XDP_BYTES);
    return Libbpf.bpf_prog_test_run_opts(program.fd(), options);
  }

  /**
   * Runs a syscall program.
   *
   * @param context native memory that the program reads and writes
   * @return 0 or -errno
   * @throws IllegalStateException if the program is closed
   */
  public int runSyscall(BpfProgram program, MemorySegment context) {
    options.fill((byte) 0);
    bpf_test_run_opts.sz(options, bpf_test_run_opts.sizeof());
    bpf_test_run_opts.ctx_in(options, context);
    bpf_test_run_opts.ctx_size_in(options, (int) context.byteSize());
    return Libbpf.bpf_prog_test_run_opts(program.fd(), options);
  }

  /** Returns the program's return value of the last repeat. */
  public int returnValue() {
    return bpf_test_run_opts.retval(options);
  }

  /** Returns the average time of one repeat, in ns. */
  public int durationNs() {
    return bpf_test_run_opts.duration(options);
  }

  /** Returns the packet after the last repeat. */
  public MemorySegment output() {
    return output.asSlice(0, bpf_test_run_opts.data_size_out(options));
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
