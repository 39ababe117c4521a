package agent.datapath.spec;

import agent.maps.layout.EventType;
import agent.maps.layout.FlowEventFlyweight;
import agent.maps.layout.FlowEvents;
import agent.types.NumberOption;
import java.lang.invoke.VarHandle;
import java.util.Set;
import org.agrona.BitUtil;
import org.agrona.BufferUtil;
import org.agrona.MutableDirectBuffer;
import org.agrona.concurrent.NanoClock;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * The last events of the datapath, in a ring outside the heap. One thread appends, which waits for
 * no reader and allocates nothing; any thread reads copies meanwhile.
 *
 * <p>Events have positions, from 0; that at {@code p} is in the slot {@code p & mask}. Before the
 * writer changes a slot it announces the position, and a reader that has copied a slot looks
 * whether the writer was announced there meanwhile (as in Agrona's broadcast buffer).
 */
public final class FlowRing {
  /** Events that the ring of the daemon holds; 0: none. */
  public static final NumberOption CAPACITY =
      new NumberOption("flowobs-event-buffer-capacity", 4096, 0, 1 << 16);

  /** The types of events that it takes. */
  public static final Set<EventType> TYPES =
      Set.of(EventType.DROP, EventType.VERDICT, EventType.TRACE);

  private static final int STRIDE = BitUtil.align(FlowEventFlyweight.LENGTH, Long.BYTES);

  private final int capacity;
  private final Set<EventType> always;
  private final NanoClock clock;
  private final long startNs;
  private final UnsafeBuffer records;
  private volatile long announced;
  private volatile long position;

  /**
   * Creates an empty ring.
   *
   * @param events that it holds at least; the next power of two is its capacity, and 0 is a ring
   *     that takes none
   * @param always types that the programs emit for the ring without a subscriber, too
   * @throws IllegalArgumentException for a number outside {@link #CAPACITY}, and for types that it
   *     does not take
   */
  public FlowRing(int events, Set<EventType> always, NanoClock clock) {
    CAPACITY.check(events);
    if (!TYPES.containsAll(always)) {
      throw new IllegalArgumentException(always + " are not all among " + TYPES);
    }
    this.clock = clock;
    this.always = events == 0 ? Set.of() : Set.copyOf(always);
    capacity = events == 0 ? 0 : BitUtil.findNextPositivePowerOfTwo(events);
    startNs = clock.nanoTime();
    records =
        new UnsafeBuffer(
            BufferUtil.allocateDirectAligned(capacity * STRIDE, BitUtil.CACHE_LINE_LENGTH));
  }

  /** Appends a copy of the event; for one thread. */
  public void append(FlowEventFlyweight event) {
    if (capacity == 0) {
      return;
    }
    final long at = position;
    announced = at + 1;
    VarHandle.storeStoreFence(); // nothing of the slot changes before
    FlowEvents.copy(event, records, slot(at), 0);
    position = at + 1;
  }

  /**
   * Copies the {@value FlowEventFlyweight#LENGTH} bytes of an event.
   *
   * @return false where there is none at the position: not yet, or no longer; what has been written
   *     to the buffer is of no use then
   */
  public boolean read(long at, MutableDirectBuffer to, int index) {
    if (at >= position) {
      return false;
    }
    to.putBytes(index, records, slot(at), FlowEventFlyweight.LENGTH);
    VarHandle.loadLoadFence(); // nothing of the slot is read afterwards
    return announced <= at + capacity;
  }

  private int slot(long at) {
    return ((int) at & capacity - 1) * STRIDE;
  }

  /** Returns the position of the next event, which is the number of all that were appended. */
  public long position() {
    return position;
  }

  /** Returns the number of events that it holds at most, a power of two; 0: it takes none. */
  public int capacity() {
    return capacity;
  }

  /** Returns the types that the programs emit for the ring without a subscriber, too. */
  public Set<EventType> always() {
    return always;
  }

  /** Returns the nanoseconds since it was created. */
  public long uptimeNs() {
    return clock.nanoTime() - startNs;
  }
}
