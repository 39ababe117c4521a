package agent.launcher.state;

import agent.types.IpAddress;
import agent.types.MacAddress;
import agent.types.Prefix;
import com.fasterxml.jackson.annotation.JsonAutoDetect.Visibility;
import java.util.function.Function;
import tools.jackson.databind.DeserializationContext;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.deser.std.FromStringDeserializer;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.module.SimpleModule;
import tools.jackson.databind.ser.std.ToStringSerializer;

/** JSON of the domain's records: components by name, addresses as text. */
final class StateJson {
  private StateJson() {}

  static JsonMapper mapper() {
    final SimpleModule types = new SimpleModule("types");
    add(types, IpAddress.class, IpAddress::parse);
    add(types, MacAddress.class, MacAddress::parse);
    add(types, Prefix.class, Prefix::parse);
    return JsonMapper.builder()
        .addModule(types)
        .enable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
        .enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
        .changeDefaultVisibility(visibility -> visibility.withIsGetterVisibility(Visibility.NONE))
        .build();
  }

  private static <T> void add(SimpleModule module, Class<T> type, Function<String, T> parser) {
    module.addSerializer(type, new ToStringSerializer(type));
    module.addDeserializer(
        type,
        new FromStringDeserializer<T>(type) {
          @Override
          protected T _deserialize(String text, DeserializationContext context) {
            return parser.apply(text);
          }
        });
  }
}
