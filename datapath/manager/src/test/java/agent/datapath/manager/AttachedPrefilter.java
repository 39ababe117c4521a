package agent.datapath.manager;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.bindings.bpf.BpfLink;
import agent.bindings.bpf.BpfProgram;
import agent.bindings.bpf.ProgramTestRun;
import agent.testkit.IpPacket;
import agent.testkit.Packets;
import agent.types.IpAddress;

/** Runs the attached prefilter program on packets from a source address. */
final class AttachedPrefilter implements AutoCloseable {
  /** XDP_DROP. */
  static final int DROP = 1;

  /** XDP_PASS. */
  static final int PASS = 2;

  private final BpfProgram program;
  private final ProgramTestRun run = new ProgramTestRun(1500);

  AttachedPrefilter(ManagerTestNode node) {
    final String device =
        node.pins().stream()
            .filter(path -> path.startsWith("agent/devices/"))
            .findFirst()
            .orElseThrow();
    try (BpfLink link = BpfLink.openPinned(node.bpfRoot().resolve(device)).orElseThrow()) {
      program = BpfProgram.openById(link.info().programId());
    }
  }

  int verdict(IpAddress source) {
    return verdict(source, 0);
  }

  int verdict(IpAddress source, int tags) {
    return verdict(frame(source, tags));
  }

  int verdict(byte[] frame) {
    run.input(frame);
    assertEquals(0, run.run(program, frame.length, 0, 1));
    return run.returnValue();
  }

  static byte[] frame(IpAddress source, int tags) {
    final IpPacket from =
        source.isIpv4()
            ? Packets.ipv4(source.toString(), "192.0.2.1")
            : Packets.ipv6(source.toString(), "2001:db8::1");
    for (int i = 0; i < tags; i++) {
      from.vlan(0);
    }
    return from.tcp(31337, 80).syn().bytes();
  }

  @Override
  public void close() {
    run.close();
    program.close();
  }
}
