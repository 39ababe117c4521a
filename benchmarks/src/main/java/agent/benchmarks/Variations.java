package agent.benchmarks;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import agent.bindings.Errno;
import agent.bindings.MappedMemory;
import agent.bindings.bpf.BpfObject;
import agent.bindings.bpf.BpfProgram;
import agent.bindings.bpf.MapCalls;
import agent.bindings.bpf.MapFlag;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/**
 * The values ({@code struct variation}) that the varying programs of {@code trivial.bpf.c} write
 * into the packet of each repeat before they call the measured program.
 */
final class Variations implements AutoCloseable {
  /** The number of packets after which the sequence repeats. */
  static final int COUNT = 65_536;

  private static final int SIZE = 32;
  private static final int HEADERS_SIZE = 80;
  private static final int PORT_OFFSET = 16;
  private static final int MACS_OFFSET = 18;
  private static final int HOP_LIMIT_OFFSET = 30;

  private final BpfObject object;
  private final MappedMemory mapping;

  Variations(BpfObject object) {
    this.object = object;
    mapping = MappedMemory.map(object.mapFd("variations"), 0, (long) COUNT * SIZE, true);
  }

  void address(int index, byte[] address) {
    MemorySegment.copy(
        address, 0, mapping.segment(), JAVA_BYTE, (long) index * SIZE, address.length);
  }

  void port(int index, int port) {
    final long offset = (long) index * SIZE + PORT_OFFSET;
    mapping.segment().set(JAVA_BYTE, offset, (byte) (port >>> 8));
    mapping.segment().set(JAVA_BYTE, offset + 1, (byte) port);
  }

  /** Resets the Ethernet addresses and the hop limit of the packet before every repeat. */
  void restore(byte[] packet, int hopLimit) {
    for (int i = 0; i < COUNT; i++) {
      final long offset = (long) i * SIZE;
      MemorySegment.copy(packet, 0, mapping.segment(), JAVA_BYTE, offset + MACS_OFFSET, 12);
      mapping.segment().set(JAVA_BYTE, offset + HOP_LIMIT_OFFSET, (byte) hopLimit);
    }
  }

  /** Sets the headers of TCP that the programs for translated packets restore. */
  void headers(byte[] packet) {
    put("original", Arrays.copyOf(packet, HEADERS_SIZE));
  }

  private void put(String map, byte[] value) {
    try (Arena arena = Arena.ofConfined()) {
      final int result =
          MapCalls.update(
              object.mapFd(map),
              arena.allocateFrom(JAVA_INT, 0),
              arena.allocateFrom(JAVA_BYTE, value),
              MapFlag.ANY);
      if (result < 0) {
        throw new IllegalStateException(map + ": " + Errno.name(result));
      }
    }
  }

  /** Runs programs after a varying one. */
  TestRunTimer.Selection behind(String varyingProgram, String nextMap) {
    final BpfProgram varying = object.program(varyingProgram);
    final int nextFd = object.mapFd(nextMap);
    return program -> {
      try (Arena arena = Arena.ofConfined()) {
        final int result =
            MapCalls.update(
                nextFd,
                arena.allocateFrom(JAVA_INT, 0),
                arena.allocateFrom(JAVA_INT, program.fd()),
                MapFlag.ANY);
        if (result < 0) {
          throw new IllegalStateException(nextMap + ": " + Errno.name(result));
        }
      }
      return varying;
    };
  }

  @Override
  public void close() {
    mapping.close();
  }
}
