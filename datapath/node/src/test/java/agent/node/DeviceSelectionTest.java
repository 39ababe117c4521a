package agent.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.types.Refusal;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class DeviceSelectionTest {
  @Test
  void shouldSelectNamesAndPatternsButNotWhatIsTakenAway() {
    final DeviceSelection selection = DeviceSelection.parse("bond0, eth+,!eth3,!eth1+");
    assertTrue(selection.selects("bond0", false));
    assertTrue(selection.selects("eth0", false));
    assertTrue(selection.selects("eth30", false));
    assertFalse(selection.selects("eth3", true));
    assertFalse(selection.selects("eth17", true));
    assertFalse(selection.selects("wan0", true), "nothing asks for it");
    assertEquals(Set.of("bond0"), selection.required());
    assertEquals(Optional.of("bond0"), selection.preferred());
  }

  @ParameterizedTest
  @ValueSource(strings = {"auto", "undefined", "", "!eth3", "auto,!eth3,tun+"})
  void shouldSelectTheDevicesThatFaceTheNetworkWithoutAName(String text) {
    final DeviceSelection selection = DeviceSelection.parse(text);
    assertTrue(selection.selects("eth0", true));
    assertFalse(selection.selects("eth0", false));
    assertEquals(!text.contains("eth3"), selection.selects("eth3", true));
    assertEquals(text.contains("tun"), selection.selects("tun7", false));
    assertEquals(Set.of(), selection.required());
    assertEquals(Optional.empty(), selection.preferred());
  }

  @ParameterizedTest
  @ValueSource(strings = {"eth0,,eth1", "eth0,undefined", "a/b", "eth0:1", "!"})
  void shouldRefuseWhatIsNeitherANameNorAPattern(String text) {
    final Refusal refusal = assertThrows(Refusal.class, () -> DeviceSelection.parse(text));
    assertEquals(Refusal.Kind.INVALID, refusal.kind());
    assertTrue(refusal.getMessage().startsWith("device: "), refusal.getMessage());
  }
}
