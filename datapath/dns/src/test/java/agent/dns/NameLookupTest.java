package agent.dns;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.types.IpAddress;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What a lookup is made of, where another has all of it but one. */
class NameLookupTest {
  private static final List<IpAddress> ADDRESSES = List.of(IpAddress.parse("192.0.2.7"));
  private static final Instant ASKED = Instant.parse("2026-11-20T10:00:00Z");
  private static final Instant ENDS = ASKED.plusSeconds(300);
  private static final NameLookup.Source SOURCE = NameLookup.Source.LOOKUP;
  private static final NameLookup LOOKUP =
      new NameLookup("a.test.", ADDRESSES, 60, ASKED, ENDS, SOURCE);

  @Test
  void shouldHaveNoEndpointWhereNoneIsNamed() {
    assertEquals(new NameLookup("a.test.", ADDRESSES, 60, ASKED, ENDS, SOURCE, 0), LOOKUP);
  }

  @Test
  void shouldChangeOnePartAlone() {
    final List<IpAddress> others = List.of(IpAddress.parse("2001:db8::7"));
    final Instant later = ENDS.plusSeconds(7);
    final NameLookup.Source held = NameLookup.Source.CONNECTION;
    assertEquals(new NameLookup("a.test.", ADDRESSES, 60, ASKED, ENDS, SOURCE, 9), LOOKUP.of(9));
    assertEquals(
        new NameLookup("a.test.", others, 60, ASKED, ENDS, SOURCE, 9), LOOKUP.of(9).with(others));
    assertEquals(
        new NameLookup("a.test.", ADDRESSES, 60, ASKED, later, SOURCE, 9),
        LOOKUP.of(9).until(later));
    assertEquals(
        new NameLookup("a.test.", ADDRESSES, 60, ASKED, ENDS, held, 9), LOOKUP.of(9).from(held));
  }
}
