package agent.datapath.programs.attach;

import agent.bindings.BindingsException;
import agent.bindings.Errno;
import agent.bindings.bpf.BpfLink;
import agent.bindings.bpf.BpfLink.LinkDescription;
import agent.bindings.bpf.BpfProgram;
import agent.bindings.bpf.XdpMode;
import java.nio.file.Path;
import java.util.Locale;

/** Attachment to the XDP hook of an interface by a pinned link. The hook accepts one program. */
final class XdpAttachment extends PinnedLinkAttachment {
  private final String interfaceName;
  private final int ifindex;
  private final XdpMode mode;

  /** Creates the attachment to an interface of this network namespace. */
  XdpAttachment(String interfaceName, int ifindex, XdpMode mode, Path pin) {
    super(pin);
    this.interfaceName = interfaceName;
    this.ifindex = ifindex;
    this.mode = mode;
  }

  @Override
  BpfLink create(BpfProgram program) {
    try {
      return BpfLink.createXdp(program, ifindex, mode);
    } catch (BindingsException failure) {
      if (failure.errno() == Errno.EOPNOTSUPP) {
        throw new AttachException(
            this + ": the driver has no native XDP; --prefilter-mode generic works without it",
            failure);
      }
      if (failure.errno() == Errno.EBUSY || failure.errno() == Errno.EEXIST) {
        throw new AttachException(this + ": another XDP program is attached", failure);
      }
      throw failure;
    }
  }

  @Override
  boolean isOnHook(LinkDescription link) {
    return link.type() == LinkDescription.TYPE_XDP && link.ifindex() == ifindex;
  }

  @Override
  public String toString() {
    return "%s (ifindex %d, XDP %s)"
        .formatted(interfaceName, ifindex, mode.name().toLowerCase(Locale.ROOT));
  }
}
