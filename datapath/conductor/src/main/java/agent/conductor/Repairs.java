package agent.conductor;

import java.util.concurrent.atomic.AtomicLongArray;
import java.util.function.ObjLongConsumer;

/** Counts what the agent found different in the kernel and repaired. Thread-safe. */
public final class Repairs {
  /** What was repaired; the name in lower case is the label of the metric. */
  public enum Kind {
    /** A tc or XDP link was attached or pinned again. */
    LINK,
    /** The agent's program was put before a foreign one again. */
    PROGRAM_ORDER,
    /** An entry of a map was written or deleted. */
    MAP_ENTRY,
    /** A map was pinned again. */
    MAP_PIN,
    /** A route of a workload was added again or removed. */
    ROUTE,
    /** An address of a gateway was added again. */
    ADDRESS,
    /** A kernel parameter was set again. */
    SYSCTL,
    /** A device was set up again. */
    DEVICE,
    /** Rules of netfilter were installed again. */
    NETFILTER
  }

  private final AtomicLongArray counts = new AtomicLongArray(Kind.values().length);

  /** Counts repairs of one kind. */
  public void count(Kind kind, int repaired) {
    counts.addAndGet(kind.ordinal(), repaired);
  }

  /** Calls the consumer with each kind and its number since the start of the process. */
  public void forEach(ObjLongConsumer<Kind> consumer) {
    for (final Kind kind : Kind.values()) {
      consumer.accept(kind, counts.get(kind.ordinal()));
    }
  }
}
