package agent.datapath.manager.spec;

/** How programs are hung on the tc hooks of an interface. */
public enum TcMode {
  /** tcx links where the kernel has them (6.6), clsact filters before. */
  AUTO,
  /** Pinned tcx links. */
  TCX,
  /** Filters under a clsact qdisc, without a link. */
  CLSACT
}
