package agent.maps.kernel;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * Native memory for one key and one value of a map, allocated once and used for every call. One
 * thread uses it. The memory lives as long as this object.
 */
public final class EntryBuffer {
  private static final int ALIGNMENT = 8;

  private final MemorySegment keySegment;
  private final MemorySegment valueSegment;
  private final UnsafeBuffer key;
  private final UnsafeBuffer value;

  /** Room for a key and for a value as the kernel copies it: of every CPU where it is per-CPU. */
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
