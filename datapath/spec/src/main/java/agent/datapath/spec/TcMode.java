package agent.datapath.spec;

/** How programs are attached to the tc hooks of an interface. */
public enum TcMode {
  /** tcx links where the kernel supports them (Linux 6.6), clsact filters otherwise. */
  AUTO,
  /** Pinned tcx links. */
  TCX,
  /** Filters under a clsact qdisc, without a BPF link. */
  CLSACT
}
