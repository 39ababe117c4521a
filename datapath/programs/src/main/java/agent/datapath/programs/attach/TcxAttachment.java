package agent.datapath.programs.attach;

import agent.bindings.bpf.BpfLink;
import agent.bindings.bpf.BpfLink.LinkDescription;
import agent.bindings.bpf.BpfProgram;

/**
 * Attachment to a tc hook by a pinned tcx link (Linux 6.6 and later), before the programs that are
 * attached to the hook.
 */
final class TcxAttachment extends PinnedLinkAttachment {
  private final TcHook hook;

  TcxAttachment(TcHook hook) {
    super(hook.pin());
    this.hook = hook;
  }

  @Override
  BpfLink create(BpfProgram program) {
    return BpfLink.createTcxFirst(program, hook.ifindex(), hook.isIngress());
  }

  @Override
  boolean isOnHook(LinkDescription link) {
    return link.type() == LinkDescription.TYPE_TCX
        && link.ifindex() == hook.ifindex()
        && link.isTcxIngress() == hook.isIngress();
  }

  @Override
  public String toString() {
    return hook.toString();
  }
}
