package agent.datapath.programs.attach;

import agent.bindings.BindingsException;
import agent.bindings.bpf.BpfProgram;
import agent.bindings.bpf.HookProbe;
import agent.bindings.net.FilterPriorities;
import agent.bindings.net.NetworkDevice;

/**
 * A hook with the program that the agent has attached to it. It holds one descriptor, of the link
 * or of the program, so that a removed pin or filter frees neither. For the conductor's thread.
 */
public abstract class WatchedHook implements AutoCloseable {
  /** What a comparison found. */
  enum State {
    RIGHT("is as it was attached"),
    UNPINNED("its pin was removed or replaced"),
    DETACHED("its program was detached"),
    REPLACED("its program was replaced by another"),
    BEHIND("another program runs before it");

    private final String found;

    State(String found) {
      this.found = found;
    }

    String found() {
      return found;
    }
  }

  private final String place;
  private final int ifindex;
  private long hardwareAddress;

  /**
   * Remembers the interface.
   *
   * @param place the hook, for messages
   * @param ifindex of the interface; 0 for a hook of a control group
   */
  WatchedHook(String place, int ifindex) {
    this.place = place;
    this.ifindex = ifindex;
    hardwareAddress = ifindex == 0 ? 0 : NetworkDevice.hardwareAddress(ifindex);
  }

  final int ifindex() {
    return ifindex;
  }

  /** Compares the hook with the kernel; allocates nothing. */
  abstract State check(HookProbe probe, FilterPriorities priorities);

  /**
   * Attaches the program again, or pins its link again.
   *
   * @throws AttachException where the kernel refuses
   * @throws agent.bindings.BindingsException where the kernel refuses
   */
  abstract void repair(State state);

  /**
   * Replaces a program of others in the agent's own link by a newly loaded program, or puts a newly
   * loaded program before all others and then detaches the present one.
   *
   * @throws AttachException where the kernel refuses, or where it has no such operation
   * @throws agent.bindings.BindingsException where the kernel refuses
   */
  abstract void repair(State state, BpfProgram loaded);

  /** Returns why the kernel or the agent's rules do not permit a repair; null where they do. */
  abstract String refusal(State state);

  /** Returns what a comparison found before or in place of the agent's program. */
  abstract String foreign();

  /** Returns id and name of a program. */
  static String describe(int programId) {
    try (BpfProgram program = BpfProgram.openById(programId)) {
      return "program " + programId + " '" + program.name() + "'";
    } catch (BindingsException gone) {
      return "program " + programId;
    }
  }

  /** Reads the address of the interface again, whose hook was found as the agent left it. */
  final void confirm() {
    if (ifindex != 0) {
      hardwareAddress = NetworkDevice.hardwareAddress(ifindex);
    }
  }

  /**
   * Returns why nothing can be attached to the interface: it is gone, or its index belongs to
   * another one now. Null where the interface is the same.
   */
  final String interfaceGone() {
    if (ifindex == 0) {
      return null;
    }
    final long found = NetworkDevice.hardwareAddress(ifindex);
    if (found < 0) {
      return "the interface is gone";
    }
    return found == hardwareAddress ? null : "its interface index belongs to another interface now";
  }

  /** Closes the descriptor; does not change the hook. */
  @Override
  public abstract void close();

  @Override
  public final String toString() {
    return place;
  }
}
