package agent.testkit;

import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * A test that needs root and the BPF system call. Without them it is skipped and the reason is
 * printed; with {@code CI=true} in the environment it fails instead.
 */
@Target({ElementType.TYPE, ElementType.METHOD})
@Retention(RetentionPolicy.RUNTIME)
@Inherited
@ExtendWith(KernelTestCondition.class)
public @interface KernelTest {
  /**
   * Returns the first kernel version with the tested feature, as "6.6". On an older kernel the test
   * is skipped, also with {@code CI=true}.
   */
  String since() default "";
}
