package agent.domain.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;

class ProcessPrivilegesTest {
  @Test
  void shouldNameTheCapabilities() {
    assertEquals(
        "capabilities chown net_admin sys_admin bpf capability_41; no_new_privs set",
        ProcessPrivileges.text(
            List.of("Name:\tjava", "CapPrm:\t0", "CapEff:\t0000028000201001", "NoNewPrivs:\t1")));
    assertEquals(
        "capabilities none; no_new_privs not set",
        ProcessPrivileges.text(List.of("CapEff:\t0000000000000000", "NoNewPrivs:\t0")));
  }

  @Test
  void shouldReadThoseOfThisProcess() {
    assertTrue(ProcessPrivileges.text().matches("capabilities [a-z_0-9 ]+; no_new_privs .*set"));
  }
}
