package agent.datapath.programs.load;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.types.IpAddress;
import agent.types.Prefix;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The shards of outside addresses, computed word by word, and those under a prefix. */
class ShardsTest {
  private static int folded(IpAddress address) {
    final ByteBuffer bytes = ByteBuffer.wrap(address.toBytes());
    int shard = 0;
    while (bytes.hasRemaining()) {
      shard ^= bytes.getShort() & 0xffff;
    }
    return shard;
  }

  @ParameterizedTest
  @CsvSource({
    "0.0.0.0",
    "10.1.0.7",
    "255.255.255.255",
    "192.0.2.1",
    "::",
    "::1",
    "2001:db8:1:2:3:4:5:6",
    "fd00::ffff:0:8000",
    "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe"
  })
  void shouldFoldTheWordsOfAnAddress(String text) {
    final IpAddress address = IpAddress.parse(text);
    assertEquals(folded(address), Shards.of(address));
  }

  @Test
  void shouldHaveAsManyShardsUnderAPrefixAsItsOpenBitsGiveUpToAll() {
    assertEquals(65_536, Shards.COUNT);
    assertEquals(1, Shards.under(Prefix.parse("192.0.2.1/32")));
    assertEquals(256, Shards.under(Prefix.parse("192.0.2.0/24")));
    assertEquals(32_768, Shards.under(Prefix.parse("192.0.0.0/17")));
    assertEquals(65_536, Shards.under(Prefix.parse("192.0.0.0/16")));
    assertEquals(65_536, Shards.under(Prefix.parse("0.0.0.0/0")));
    assertEquals(1, Shards.under(Prefix.parse("2001:db8::1/128")));
    assertEquals(2, Shards.under(Prefix.parse("2001:db8::/127")));
    assertEquals(32_768, Shards.under(Prefix.parse("2001:db8::/113")));
    assertEquals(65_536, Shards.under(Prefix.parse("2001:db8::/112")));
    assertEquals(65_536, Shards.under(Prefix.parse("::/0")));
  }

  /** What {@code VerdictGenerations} raises for a prefix is what its addresses have. */
  @Test
  void shouldFindTheShardsOfAllAddressesOfAPrefixInItsLowBits() {
    for (final String text : List.of("192.0.2.64/26", "2001:db8:7::ab00/122")) {
      final Prefix prefix = Prefix.parse(text);
      final Set<Integer> expected = new TreeSet<>();
      final Set<Integer> raised = new TreeSet<>();
      for (int i = 0; i < 64; i++) {
        expected.add(Shards.of(prefix.address().plus(i)));
        raised.add(Shards.of(prefix.address()) ^ i);
      }
      assertEquals(64, Shards.under(prefix));
      assertEquals(expected, raised, text);
    }
  }
}
