package agent.maps.kernel;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * Native memory for one key and one value of a map, allocated once and reused for every call. Not
 * thread-safe. The memory is freed with this object.
 */
public final class EntryBuffer {
  private static final int ALIGNMENT = 8;

  private final MemorySegment keySegment;
  private final MemorySegment valueSegment;
  private final UnsafeBuffer key;
  private final UnsafeBuffer value;

  /** Allocates a key and a value of {@link BpfMap#copiedValueSize()} bytes. */
  public EntryBuffer(BpfMap map) {
    final Arena arena = Arena.ofAuto();
    keySegment = arena.allocate(map.keySize(), ALIGNMENT);
    valueSegment = arena.allocate(map.copiedValueSize(), ALIGNMENT);
    key = new UnsafeBuffer(keySegment.address(), map.keySize());
    value = new UnsafeBuffer(valueSegment.address(), map.copiedValueSize());
  }

  public UnsafeBuffer key() {
    return key;
  }

  public UnsafeBuffer value() {
    return value;
  }

  MemorySegment keySegment() {
    return keySegment;
  }

  MemorySegment valueSegment() {
    return valueSegment;
  }
}
