package agent.bindings.bpf;

/** Hooks of a control group at which programs see the addresses of sockets (linux/bpf.h). */
public enum SocketHook {
  BIND4(8),
  BIND6(9),
  CONNECT4(10),
  CONNECT6(11),
  SENDMSG4(14),
  SENDMSG6(15),
  RECVMSG4(19),
  RECVMSG6(20),
  GETPEERNAME4(29),
  GETPEERNAME6(30);

  private final int attachType;

  SocketHook(int attachType) {
    this.attachType = attachType;
  }

  /** Returns the number of enum bpf_attach_type. */
  public int attachType() {
    return attachType;
  }
}
