package agent.datapath.programs.attach;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class TcHookTest {
  @Test
  void shouldNameTheHookInMessagesAndTheProgramOfFormerReleases() {
    final TcHook ingress = new TcHook("lxc7", 12, true, "from_endpoint", Path.of("/pin"));
    final TcHook egress = new TcHook("lxc7", 0, false, "to_endpoint", Path.of("/pin"));
    assertEquals("lxc7 ingress (ifindex 12, program from_endpoint)", ingress.toString());
    assertEquals("lxc7 egress (ifindex 0, program to_endpoint)", egress.toString());
    assertEquals("closed_to_endpoint", egress.closedProgram());
  }
}
