
declare module "*.css";
