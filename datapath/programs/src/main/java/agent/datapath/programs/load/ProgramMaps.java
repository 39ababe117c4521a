package agent.datapath.programs.load;

import agent.bindings.BindingsException;
import agent.bindings.Descriptors;
import agent.bindings.Errno;
import agent.bindings.bpf.BpfFileSystem;
import agent.bindings.bpf.BpfObject;
import agent.bindings.bpf.BpfProgram;
import agent.bindings.bpf.MapDescription;
import agent.bindings.bpf.MapFlag;
import agent.bindings.bpf.MapType;
import agent.conductor.Repairs;
import agent.datapath.guard.Check;
import agent.datapath.guard.KernelFaults;
import agent.datapath.guard.Subject;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.EntryBuffer;
import agent.maps.kernel.MapDefinition;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The maps that outlive the programs of an object, and that libbpf creates with them: what sockets
 * have, so that a new program knows it, too, and the programs that those of endpoints call. They
 * stay open, since the kernel clears an array of programs that is neither open nor pinned; their
 * pins are compared as those of other maps, and the slots of an array with the programs that were
 * loaded last. The loading thread adds maps; the checks are for the conductor's thread.
 */
public final class ProgramMaps implements Check {
  private final MapPins pins;
  private final KernelFaults faults;
  private final Repairs repairs;
  private final Map<String, BpfMap> open = new ConcurrentHashMap<>();
  private final Queue<BpfMap> added = new ConcurrentLinkedQueue<>();
  private final ReentrantLock loading = new ReentrantLock();
  private Slots slots;

  /** The slots of an array of programs, guarded by the lock. */
  private static final class Slots {
    final BpfMap map;
    final EntryBuffer entry;
    final List<BpfProgram> programs = new ArrayList<>(); // null: the slot is empty
    final List<Integer> ids = new ArrayList<>();
    final Subject subject;

    Slots(BpfMap map, KernelFaults faults, Repairs repairs) {
      this.map = map;
      entry = new EntryBuffer(map);
      subject = new Subject("map " + map.name(), "slots without their program", faults, repairs);
    }

    /** Records the present programs as the desired ones. */
    void read() {
      close();
      for (int slot = 0; slot < map.maxEntries(); slot++) {
        final int id = id(slot);
        programs.add(id == 0 ? null : BpfProgram.openById(id));
        ids.add(id);
      }
    }

    private int id(int slot) {
      entry.key().putInt(0, slot);
      return map.lookup(entry) < 0 ? 0 : entry.value().getInt(0);
    }

    int repair() {
      int repaired = 0;
      for (int slot = 0; slot < ids.size(); slot++) {
        if (id(slot) != ids.get(slot)) {
          set(slot, programs.get(slot));
          repaired++;
        }
      }
      return repaired;
    }

    private void set(int slot, BpfProgram program) {
      entry.key().putInt(0, slot);
      if (program != null) {
        entry.value().putInt(0, program.fd());
      }
      final int result = program == null ? map.delete(entry) : map.update(entry, MapFlag.ANY);
      if (result < 0) {
        throw map.failure("repair", "slot " + slot, result);
      }
    }

    void close() {
      for (final BpfProgram program : programs) {
        if (program != null) {
          program.close();
        }
      }
      programs.clear();
      ids.clear();
    }
  }

  /** Creates a comparison of no maps. */
  public ProgramMaps(KernelFaults faults, Repairs repairs) {
    pins = new MapPins(faults, repairs);
    this.faults = faults;
    this.repairs = repairs;
  }

  /** Holds the comparison while an object is loaded, which fills the slots anew. */
  void beginLoad() {
    loading.lock();
  }

  /** Ends what {@link #beginLoad()} began, by the same thread. */
  void endLoad() {
    loading.unlock();
  }

  /** Makes an object that is not loaded yet use the map of this name, where there is one. */
  void reuse(BpfObject object, String name, Path pin) {
    final BpfMap known = open.get(name);
    if (known != null) {
      object.reuseMap(name, known.fd());
      return;
    }
    final int fd = BpfFileSystem.open(pin);
    if (fd >= 0) {
      try {
        object.reuseMap(name, fd);
      } finally {
        Descriptors.close(fd);
      }
    }
  }

  /** Keeps the map of a loaded object, and the programs in it. */
  void keep(BpfObject object, String name, Path pin) {
    if (!open.containsKey(name)) {
      final MapDescription found = MapDescription.of(object.mapFd(name));
      final int result = BpfFileSystem.pin(object.mapFd(name), pin);
      if (result < 0 && result != -Errno.EEXIST) {
        throw new BindingsException("map " + name + ": pin " + pin, result);
      }
      final MapDefinition definition = MapDefinition.of(found.spec()).withName(name);
      final BpfMap map = BpfMap.openById(found.id(), definition, pin.toString());
      open.put(name, map);
      added.add(map);
      if (found.type() != MapType.SK_STORAGE) {
        slots = new Slots(map, faults, repairs);
      }
    }
    if (slots != null && slots.map == open.get(name)) {
      slots.read();
    }
  }

  @Override
  public Progress step(long nowNs) {
    for (BpfMap map = added.poll(); map != null; map = added.poll()) {
      pins.add(map);
    }
    pins.step(nowNs);
    if (loading.tryLock()) {
      try {
        if (slots != null) {
          slots.subject.repaired(slots.repair());
          slots.subject.endRound();
        }
      } finally {
        loading.unlock();
      }
    }
    return Progress.DONE;
  }

  @Override
  public void close() {
    if (slots != null) {
      slots.close();
    }
    open.values().forEach(BpfMap::close);
  }

  @Override
  public String toString() {
    return "maps of programs";
  }
}
