/** Gives what something that may be forbidden gives, or the name of the error. */
export async function attempt(something) {
  try {
    return await something();
  } catch (error) {
    return error.name;
  }
}
