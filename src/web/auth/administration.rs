//! Authorization of administrators: users, groups, roles, options, retention, tenants, sessions and limits (U-04).

use platform_actors::Platform;
use platform_model::id::{MANAGEMENT, TenantId};
use platform_model::role;
use platform_model::tenancy::identity_provider::IDENTITY_PROVIDER;
use platform_model::tenancy::retention::Reach;
use platform_model::tenancy::tenant_option::TOKEN_PUBLIC_KEY;
use platform_model::users::user::{Administration, User, UserAuthority, parse_user_of_path};

use super::Caller;
use crate::http::error::{ApiError, Result};

impl Caller {
    /// Returns the tenant of a path, with the authority by which the caller reads its users: all, or its own
    /// sub-users.
    ///
    /// # Errors
    /// `Forbidden` for another tenant and without a role, `NotFound` for a tenant that does not exist.
    pub async fn reads_users(&self, platform: &Platform, tenant: &str) -> Result<(TenantId, UserAuthority)> {
        self.users_of(platform, tenant, role::USER_MANAGEMENT_READ).await
    }

    /// Returns the user of a path: any, a sub-user of the caller, or the caller itself.
    ///
    /// # Errors
    /// The errors of [`Caller::reads_users`], `Forbidden` for a user with another owner, `NotFound` for an unknown
    /// user.
    pub async fn reads_user(&self, platform: &Platform, tenant: &str, name: &str) -> Result<User> {
        let database = platform.database();
        if self.is_user(tenant, name) && self.roles.has(role::USER_MANAGEMENT_OWN_READ) {
            return Ok(platform_store::users::get_user(database, &self.tenant, name).await?);
        }
        let (tenant, authority) = self.reads_users(platform, tenant).await?;
        let user = platform_store::users::get_user(database, &tenant, &parse_user_of_path(name)?).await?;
        authority.reaches(user.owner.as_deref())?;
        Ok(user)
    }

    /// Returns the authorization to change users of the tenant of a path: all, or the caller's own sub-users.
    ///
    /// # Errors
    /// The errors of [`Caller::reads_users`].
    pub async fn administers_users(&self, platform: &Platform, tenant: &str) -> Result<Administration> {
        let (tenant, authority) = self.users_of(platform, tenant, role::USER_MANAGEMENT_ADMIN).await?;
        self.administration(platform, tenant, authority)
    }

    /// Returns the authorization to change groups of the tenant of a path.
    ///
    /// # Errors
    /// The errors of [`Caller::reads_users`]; owning sub-users is not sufficient to change groups.
    pub async fn administers_groups(&self, platform: &Platform, tenant: &str) -> Result<Administration> {
        let administration = self.administers_users(platform, tenant).await?;
        match administration.authority {
            UserAuthority::Everyone => Ok(administration),
            UserAuthority::SubUsers { .. } => Err(ApiError::forbidden()),
        }
    }

    /// Checks that the caller may read its own record; the bootstrap user of devices may not (U-04, N-09).
    ///
    /// # Errors
    /// `Forbidden` without ROLE_USER_MANAGEMENT_OWN_READ.
    pub fn owns_record(&self) -> Result<()> {
        if self.is_bootstrap() {
            Err(ApiError::forbidden())
        } else {
            self.require(role::USER_MANAGEMENT_OWN_READ)
        }
    }

    /// Returns the authorization to change the caller's own user (U-13).
    ///
    /// # Errors
    /// `Forbidden` without ROLE_USER_MANAGEMENT_OWN_ADMIN.
    pub fn administers_oneself(&self, platform: &Platform) -> Result<Administration> {
        self.require(role::USER_MANAGEMENT_OWN_ADMIN)?;
        self.administration(platform, self.tenant.clone(), UserAuthority::Everyone)
    }

    /// Returns the authorization to change how the caller's own user logs in, which needs no role (C-27).
    ///
    /// # Errors
    /// `Unavailable` when no id can be generated.
    pub(crate) fn administers_log_in(&self, platform: &Platform) -> Result<Administration> {
        self.administration(platform, self.tenant.clone(), UserAuthority::Everyone)
    }

    /// Returns whether a path names the caller's own user.
    pub fn is_user(&self, tenant: &str, name: &str) -> bool {
        self.tenant.as_str() == tenant && *self.user == *name
    }

    /// Returns the authorization to change options of the caller's own tenant. A user that sets the keys that verify
    /// tokens can act as any user, so this also requires the right to administer users (T-09).
    ///
    /// # Errors
    /// `Forbidden` without ROLE_OPTION_MANAGEMENT_ADMIN; for `token.publicKey` without
    /// ROLE_USER_MANAGEMENT_ADMIN in addition.
    pub fn administers_options(&self, platform: &Platform, category: &str) -> Result<Administration> {
        self.require(role::OPTION_MANAGEMENT_ADMIN)?;
        if [TOKEN_PUBLIC_KEY, IDENTITY_PROVIDER].contains(&category)
            && !self.roles.has(role::USER_MANAGEMENT_ADMIN)
        {
            return Err(ApiError::forbidden_because(
                "keys of tokens and identity providers also require ROLE_USER_MANAGEMENT_ADMIN",
            ));
        }
        self.administration(platform, self.tenant.clone(), UserAuthority::Everyone)
    }

    /// Returns the authorization to change the retention rules of the caller's own tenant (Z-08).
    ///
    /// # Errors
    /// `Forbidden` without ROLE_RETENTION_RULE_ADMIN.
    pub fn administers_retention(&self, platform: &Platform) -> Result<Administration> {
        self.require(role::RETENTION_RULE_ADMIN)?;
        self.administration(platform, self.tenant.clone(), UserAuthority::Everyone)
    }

    /// Returns the authorization, by which changes of the tenants that the caller's tenant manages are recorded. The
    /// handlers check the roles, which differ.
    ///
    /// # Errors
    /// `Unavailable` when no id can be generated.
    pub fn administers_tenants(&self, platform: &Platform) -> Result<Administration> {
        self.administration(platform, self.tenant.clone(), UserAuthority::Everyone)
    }

    /// Returns the data whose retention the caller may change with the authorization of
    /// [`Caller::administers_retention`]: a rule for audit records erases them, as deleting them does (Z-08a, Y-04).
    pub fn reach_of_retention(&self) -> Reach {
        if self.roles.has(role::AUDIT_ADMIN) { Reach::Everything } else { Reach::AllButAudit }
    }

    /// Returns the authorization to end sessions of the caller's own tenant (B-25).
    ///
    /// # Errors
    /// `Forbidden` without ROLE_USER_MANAGEMENT_ADMIN.
    pub fn administers_sessions(&self, platform: &Platform) -> Result<Administration> {
        self.require(role::USER_MANAGEMENT_ADMIN)?;
        self.administration(platform, self.tenant.clone(), UserAuthority::Everyone)
    }

    /// Returns the authorization to begin and end traces of the caller's own tenant (B-37).
    ///
    /// # Errors
    /// `Forbidden` without ROLE_NOTIFICATION_ADMIN.
    pub(crate) fn administers_traces(&self, platform: &Platform) -> Result<Administration> {
        self.require(role::NOTIFICATION_ADMIN)?;
        self.administration(platform, self.tenant.clone(), UserAuthority::Everyone)
    }

    /// Returns the authorization to create a consumer of notifications for oneself, or to change one that the caller
    /// may change.
    ///
    /// # Errors
    /// `Unavailable` while this server holds no slot.
    pub(crate) fn administers_consumer(&self, platform: &Platform) -> Result<Administration> {
        self.administration(platform, self.tenant.clone(), UserAuthority::Everyone)
    }

    /// Returns the authorization to change the limits of a tenant that the caller's tenant manages (Z-20).
    ///
    /// # Errors
    /// `Forbidden` without ROLE_TENANT_MANAGEMENT_ADMIN or _UPDATE.
    pub fn administers_limits(&self, platform: &Platform, tenant: TenantId) -> Result<Administration> {
        self.require_any(&[role::TENANT_MANAGEMENT_ADMIN, role::TENANT_MANAGEMENT_UPDATE])?;
        self.administration(platform, tenant, UserAuthority::Everyone)
    }

    fn administration(
        &self,
        platform: &Platform,
        tenant: TenantId,
        authority: UserAuthority,
    ) -> Result<Administration> {
        // A caller from another tenant is named with its tenant, as it logs in.
        let by = if self.tenant == tenant {
            self.user.to_string()
        } else {
            format!("{}/{}", self.tenant, self.user)
        };
        Ok(Administration {
            tenant,
            by,
            application: self.sent_by().cloned(),
            authority,
            audit_record: platform.next_id()?,
            client: self.client,
        })
    }

    async fn users_of(
        &self,
        platform: &Platform,
        tenant: &str,
        role: &str,
    ) -> Result<(TenantId, UserAuthority)> {
        let own = self.tenant.as_str() == tenant;
        if !own && self.tenant.as_str() != MANAGEMENT {
            return Err(ApiError::forbidden());
        }
        let authority = match self.roles.has(role) {
            true => UserAuthority::Everyone,
            // User names are unique only within a tenant, so a user of another tenant owns nothing here.
            false if own && self.roles.has(role::USER_MANAGEMENT_CREATE) => UserAuthority::SubUsers {
                owner: self.user.clone(),
                roles: self.roles.clone(),
                permissions: self.permissions.clone(),
            },
            false => return Err(ApiError::forbidden()),
        };
        if own {
            return Ok((self.tenant.clone(), authority));
        }
        let tenant = TenantId::known(tenant)?;
        platform_store::users::ensure_tenant(platform.database(), &tenant).await?;
        Ok((tenant, authority))
    }
}
