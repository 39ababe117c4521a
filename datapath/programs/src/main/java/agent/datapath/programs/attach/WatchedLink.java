package agent.datapath.programs.attach;

import agent.bindings.BindingsException;
import agent.bindings.bpf.BpfLink;
import agent.bindings.bpf.BpfLink.LinkDescription;
import agent.bindings.bpf.BpfProgram;
import agent.bindings.bpf.HookProbe;
import agent.bindings.net.FilterPriorities;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;

/** A hook with a pinned tcx, XDP or cgroup link. */
final class WatchedLink extends WatchedHook {
  private final PinnedLinkAttachment attachment;
  private final Path pin;
  private final MemorySegment pinPath;
  private final boolean isTcx;
  private final boolean isIngress;
  private final long cgroupId;
  private BpfLink link;
  private int programId;
  private long inode;
  private int deviceMinor;
  private int foreignProgramId;

  /** Owns the handle of the link. */
  WatchedLink(
      PinnedLinkAttachment attachment, Path pin, BpfLink link, LinkDescription description) {
    super(attachment.toString(), description.ifindex());
    this.attachment = attachment;
    this.pin = pin;
    this.link = link;
    pinPath = HookProbe.pathOf(pin);
    isTcx = description.type() == LinkDescription.TYPE_TCX;
    isIngress = description.isTcxIngress();
    cgroupId = description.cgroupId();
    programId = description.programId();
    rememberPin();
  }

  private void rememberPin() {
    final HookProbe probe = new HookProbe();
    if (probe.readFile(pinPath) == 0) {
      inode = probe.inode();
      deviceMinor = probe.deviceMinor();
    }
  }

  /**
   * A tcx hook whose first program is the agent's needs one query, since program ids are unique;
   * otherwise the link tells what is different.
   */
  @Override
  State check(HookProbe probe, FilterPriorities priorities) {
    final boolean isFirst =
        isTcx && probe.readTcx(ifindex(), isIngress) > 0 && probe.tcxProgramId(0) == programId;
    final State state = isFirst ? State.RIGHT : checkLink(probe);
    if (state != State.RIGHT) {
      return state;
    }
    final boolean isPinned =
        probe.readFile(pinPath) == 0
            && probe.inode() == inode
            && probe.deviceMinor() == deviceMinor;
    return isPinned ? State.RIGHT : State.UNPINNED;
  }

  private State checkLink(HookProbe probe) {
    final int result = probe.readLink(link.fd());
    if (result < 0) {
      throw new BindingsException(link + ": describe", result);
    }
    if (probe.linkProgramId() != programId) {
      foreignProgramId = probe.linkProgramId();
      return State.REPLACED;
    }
    final boolean isAttached =
        cgroupId == 0 ? probe.linkIfindex() == ifindex() : probe.linkCgroupId() == cgroupId;
    if (!isAttached) {
      return State.DETACHED;
    }
    if (!isTcx) {
      return State.RIGHT;
    }
    foreignProgramId = probe.readTcx(ifindex(), isIngress) > 0 ? probe.tcxProgramId(0) : programId;
    return foreignProgramId == programId ? State.RIGHT : State.BEHIND;
  }

  @Override
  void repair(State state) {
    if (state == State.UNPINNED) {
      Pins.put(link.fd(), pin);
      rememberPin();
      return;
    }
    try (BpfProgram program = BpfProgram.openById(programId)) { // the detached link holds it
      replaceBy(attachment.create(program), program);
    }
  }

  @Override
  void repair(State state, BpfProgram loaded) {
    if (state == State.BEHIND || isDetached(link.info())) {
      replaceBy(attachment.create(loaded), loaded);
    } else {
      link.update(loaded);
      programId = loaded.info().id();
    }
  }

  private static boolean isDetached(LinkDescription found) {
    return found.ifindex() == 0 && found.cgroupId() == 0;
  }

  @Override
  String refusal(State state) {
    return null;
  }

  @Override
  String foreign() {
    return describe(foreignProgramId);
  }

  /** Pins a new link in place of the present one, which is then detached. */
  private void replaceBy(BpfLink created, BpfProgram program) {
    try {
      Pins.put(created.fd(), pin);
    } catch (RuntimeException failure) {
      created.close(); // detaches the program, since the link is not pinned
      throw failure;
    }
    final BpfLink before = link;
    link = created;
    programId = program.info().id();
    rememberPin();
    try (before) {
      before.detach();
    }
  }

  @Override
  public void close() {
    link.close();
  }
}
