package agent.types;

import agent.fuzz.FuzzInputs;
import java.util.List;
import java.util.function.Function;

/** Addresses, prefixes and MAC addresses. */
public final class AddressFuzz {
  /** Inputs to start from. */
  public static final List<byte[]> SEEDS =
      FuzzInputs.texts(
          "10.1.0.7",
          "fd00::1",
          "::ffff:192.0.2.1",
          "10.1.0.7/24",
          "2001:db8::/32",
          "::/0",
          "0a:00:00:00:00:07",
          "1:2:3:4:5:6:7:8/128",
          "01.2.3.4",
          "fe80::1%eth0",
          "10.1.0.7/33");

  private AddressFuzz() {}

  /** Reads one text in each way. */
  public static void fuzzerTestOneInput(byte[] input) {
    final String text = FuzzInputs.text(input);
    check(text, IpAddress::parse);
    check(text, Prefix::parse);
    check(text, MacAddress::parse);
  }

  private static <T> void check(String text, Function<String, T> parser) {
    final T value;
    try {
      value = parser.apply(text);
    } catch (Refusal refused) {
      return;
    }
    FuzzInputs.assertSame(value, parser.apply(value.toString()), value.toString());
  }
}
