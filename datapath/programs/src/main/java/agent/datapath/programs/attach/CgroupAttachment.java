package agent.datapath.programs.attach;

import agent.bindings.bpf.BpfLink;
import agent.bindings.bpf.BpfLink.LinkDescription;
import agent.bindings.bpf.BpfProgram;
import agent.bindings.bpf.SocketHook;
import agent.types.IoFailure;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Attachment to a hook of a control group by a pinned link. */
final class CgroupAttachment extends PinnedLinkAttachment {
  private final Path cgroup;
  private final SocketHook hook;

  CgroupAttachment(Path cgroup, SocketHook hook, Path pin) {
    super(pin);
    this.cgroup = cgroup;
    this.hook = hook;
  }

  @Override
  BpfLink create(BpfProgram program) {
    return BpfLink.createCgroup(program, cgroup, hook);
  }

  /** The id of a control group is the inode number of its directory. */
  @Override
  boolean isOnHook(LinkDescription link) {
    try {
      return link.type() == LinkDescription.TYPE_CGROUP
          && link.attachType() == hook.attachType()
          && link.cgroupId() == (long) Files.getAttribute(cgroup, "unix:ino");
    } catch (IOException failure) {
      throw new UncheckedIOException(
          "control group " + cgroup + ": " + IoFailure.reason(failure), failure);
    }
  }

  @Override
  public String toString() {
    return hook + " of control group " + cgroup;
  }
}
