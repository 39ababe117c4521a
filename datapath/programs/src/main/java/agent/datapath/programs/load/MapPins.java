package agent.datapath.programs.load;

import agent.bindings.BindingsException;
import agent.bindings.bpf.HookProbe;
import agent.conductor.Repairs;
import agent.conductor.Repairs.Kind;
import agent.datapath.guard.Check;
import agent.datapath.guard.KernelFaults;
import agent.datapath.programs.attach.Pins;
import agent.maps.kernel.BpfMap;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Compares the pins of the agent's maps with those that it took over or created, by the number of
 * the file, and pins a map again whose pin was removed or replaced. The map itself stays open in
 * the meantime; without its pin a restart would lose it. For one thread at a time: the launching
 * one, then the conductor's.
 */
public final class MapPins implements Check {
  private static final Logger LOGGER = LogManager.getLogger(MapPins.class);
  private static final int PINS_PER_STEP = 32;

  private final KernelFaults faults;
  private final Repairs repairs;
  private final HookProbe probe = new HookProbe();
  private final List<Pin> pins = new ArrayList<>();
  private int next;

  private static final class Pin {
    final BpfMap map;
    final MemorySegment path;
    long inode;
    int deviceMinor;
    boolean isFaulty;

    Pin(BpfMap map) {
      this.map = map;
      path = HookProbe.pathOf(Path.of(map.pinPath()));
    }

    String subject() {
      return "map " + map.name() + " pin";
    }
  }

  /** Creates a comparison of no pins. */
  public MapPins(KernelFaults faults, Repairs repairs) {
    this.faults = faults;
    this.repairs = repairs;
  }

  /** Returns where faults of maps are reported. */
  KernelFaults faults() {
    return faults;
  }

  /** Adds a pinned map. */
  void add(BpfMap map) {
    final Pin pin = new Pin(map);
    remember(pin);
    pins.add(pin);
  }

  private void remember(Pin pin) {
    if (probe.readFile(pin.path) == 0) {
      pin.inode = probe.inode();
      pin.deviceMinor = probe.deviceMinor();
    }
  }

  /** Removes a map that is about to be unpinned or closed. */
  void remove(BpfMap map) {
    for (int i = 0; i < pins.size(); i++) {
      if (pins.get(i).map == map) {
        faults.clear(pins.remove(i).subject());
        next -= i < next ? 1 : 0;
        return;
      }
    }
  }

  @Override
  public Progress step(long nowNs) {
    for (int i = 0; i < PINS_PER_STEP && next < pins.size(); i++) {
      final Pin pin = pins.get(next++);
      if (probe.readFile(pin.path) == 0
          && probe.inode() == pin.inode
          && probe.deviceMinor() == pin.deviceMinor) {
        if (pin.isFaulty) {
          pin.isFaulty = false;
          faults.clear(pin.subject());
        }
      } else {
        repair(pin);
      }
    }
    if (next < pins.size()) {
      return Progress.COMPARED;
    }
    next = 0;
    return Progress.DONE;
  }

  private void repair(Pin pin) {
    final String found = "it was removed or replaced (" + pin.map.pinPath() + ")";
    try {
      Pins.put(pin.map.fd(), Path.of(pin.map.pinPath()));
      remember(pin);
      repairs.count(Kind.MAP_PIN, 1);
      faults.degraded(0, null, pin.subject(), found);
      LOGGER.warn("{}: {}; pinned again", pin.subject(), found);
    } catch (BindingsException | UncheckedIOException failure) {
      if (!pin.isFaulty) {
        LOGGER.error("{}: {}; pinning it again failed", pin.subject(), found, failure);
      }
      faults.failed(0, null, pin.subject(), found + ": " + failure.getMessage());
    }
    pin.isFaulty = true;
  }

  @Override
  public String toString() {
    return "pins of maps";
  }
}
