package agent.datapath.manager.events;

import agent.conductor.Repairs;
import agent.datapath.manager.guard.Check;
import agent.datapath.manager.guard.GuardedMap;
import agent.datapath.manager.guard.KernelFaults;
import agent.datapath.manager.guard.MapRounds;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.EventGateMap;
import java.util.List;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * What the programs emit without an endpoint's options, and its comparison with the kernel: another
 * value would hide translations from their subscribers, or cost each new flow an event that no
 * reader reads. For the launching thread, then the conductor's.
 */
public final class TranslationGate implements Check {
  private final EventGateMap map;
  private final GuardedMap guarded;
  private final MapRounds rounds;
  private final UnsafeBuffer key = new UnsafeBuffer(new byte[Integer.BYTES]);
  private final UnsafeBuffer value = new UnsafeBuffer(new byte[Integer.BYTES]);

  /** Closes the gate, which a killed run may have left open. */
  public TranslationGate(BpfMap open, KernelFaults faults, Repairs repairs) {
    map = new EventGateMap(open);
    guarded = new GuardedMap(0, null, "map " + open.name(), open);
    rounds = new MapRounds(faults, repairs, List.of(guarded));
    set(0);
  }

  /**
   * Writes the bits.
   *
   * @param bits of {@link agent.maps.layout.EventGate}
   * @throws agent.maps.kernel.BpfMapException where the kernel refuses
   */
  public void set(int bits) {
    map.set(bits);
    value.putInt(0, bits);
    if (bits == 0) {
      guarded.desired().remove(key);
    } else {
      guarded.desired().put(key, value);
    }
  }

  @Override
  public Progress step(long nowNs) {
    return rounds.step();
  }

  @Override
  public void close() {
    rounds.abandon();
  }

  @Override
  public String toString() {
    return "event gate";
  }
}
